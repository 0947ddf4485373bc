"""
fastavro with the writer's schema from the registry. With a schema file as argument it reads as a consumer that keeps that
schema: topics of other types than the file's are not for it.
"""

import functools
import io
import json
import os
import struct
import sys
import urllib.request

import fastavro

from topics import read_topics

OWN = fastavro.schema.load_schema(sys.argv[1]) if len(sys.argv) > 1 else None


@functools.cache
def writer_schema(schema_id):
    address = f"{os.environ['SCHEMA_REGISTRY_URL']}/schemas/ids/{schema_id}"
    with urllib.request.urlopen(address) as response:
        return fastavro.parse_schema(json.loads(json.load(response)["schema"]))


def decode(record):
    value = io.BytesIO(record.value())
    magic, schema_id = struct.unpack(">bI", value.read(5))
    if magic != 0:
        raise RuntimeError("not in the registry's wire format")
    event = fastavro.schemaless_reader(value, writer_schema(schema_id), OWN)
    if value.read(1):
        raise RuntimeError("bytes are left over")
    return event


read_topics(decode)
