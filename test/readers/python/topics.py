"""Reads topics with confluent-kafka's consumer, and prints each record as a line of JSON."""

import hashlib
import json
import os
import sys
import urllib.request
import uuid
from datetime import datetime

from confluent_kafka import Consumer, TopicPartition
from fastavro.read import SchemaResolutionError

SCHEME = "s3://"


def read_topics(decode):
    """Reads all topics from their beginning to their present end. `decode` makes an event of a record."""
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "group.id": str(uuid.uuid4()),
            # Not a limit: a new group would begin at the end.
            "auto.offset.reset": "earliest",
        }
    )
    try:
        topics = os.environ["TOPICS"].split(",")
        left = count_records(consumer, topics)
        consumer.subscribe(topics)
        while left > 0:
            record = consumer.poll(1.0)
            if record is None:
                continue
            if record.error():
                raise RuntimeError(record.error())
            print_record(record, decode)
            left -= 1
    finally:
        consumer.close()


def count_records(consumer, topics):
    """How many records the topics hold now."""
    count = 0
    for topic in topics:
        for partition in consumer.list_topics(topic).topics[topic].partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition))
            count += high - low
    return count


def print_record(record, decode):
    line = {
        "topic": record.topic(),
        "partition": record.partition(),
        "offset": record.offset(),
        "key": record.key().decode(),
    }
    try:
        event = decode(record)
        source = event["source"]
        line["value"] = {**event, "source": None if source is None else digest_of(source.encode())}
        line["object"] = fetch_object(event.get("sourceRef"))
    except SchemaResolutionError as error:
        # Writer's and reader's schema do not fit together: the consumer of 0.x is expected to meet this.
        line["value"] = None
        line["error"] = str(error)
    json.dump(line, sys.stdout, ensure_ascii=False, default=milliseconds)
    sys.stdout.write("\n")


def fetch_object(reference):
    """The message that an event refers to, its size and its SHA-256 verified."""
    if reference is None:
        return None
    address = os.environ["BODY_STORE_ENDPOINT"] + "/" + reference["uri"].removeprefix(SCHEME)
    with urllib.request.urlopen(address) as response:
        digest = digest_of(response.read())
    if digest != {"bytes": reference["bytes"], "sha256": reference["sha256"]}:
        raise RuntimeError(f"{reference['uri']} is not what was stored")
    return digest


def digest_of(data):
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def milliseconds(value):
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    raise TypeError(type(value))
