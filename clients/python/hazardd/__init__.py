"""A client of hazardd, a hazard data service. It needs the standard library alone.

Reads return records as dicts, with the members of the base interface. A client may be used by several threads.
"""

from ._client import Client, Error, Event, Records

__all__ = ["Client", "Error", "Event", "Records"]
__version__ = "0.1.0"
