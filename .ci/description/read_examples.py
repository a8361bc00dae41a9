"""Reads each example of the schemas of a description with the types in the module api, which was generated of it, and writes it again."""
import json
import sys

import api

with open(sys.argv[1], encoding="utf-8") as f:
    schemas = json.load(f)["components"]["schemas"]
read = faults = 0
for name, schema in schemas.items():
    for example in schema.get("examples", []):
        read += 1
        try:
            again = api.Schemas.from_dict({name: example}).to_dict()
            if again.keys() != {name}:
                raise ValueError(f"it became {again}")
        except Exception as e:
            faults += 1
            print(f"{name}: the example is not read: {e!r}: {json.dumps(example)[:300]}", file=sys.stderr)
if faults or read < 50:
    sys.exit(f"{faults} of {read} examples are not read")
print(f"{read} examples are read")
