"""Names of the integration."""

from datetime import timedelta
import logging

DOMAIN = "hazardd"
LOGGER = logging.getLogger(__package__)
INTERVAL = timedelta(minutes=1)
TIMEOUT = 20  # seconds for an answer

# Levels, the least first.
SEVERITIES = ["TERMINATION", "INFORMATION", "ADVISORY", "WATCH", "WARNING"]
# Whether somebody who warns at the place is read. Silence means calm where it is "covered" alone.
WATCHED = ["covered", "stale", "unknown"]
