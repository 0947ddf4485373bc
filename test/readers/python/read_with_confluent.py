"""confluent-kafka's consumer with its AvroDeserializer, as they come."""

import os

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from topics import read_topics

registry = SchemaRegistryClient({"url": os.environ["SCHEMA_REGISTRY_URL"]})
deserialize = AvroDeserializer(registry)


def decode(record):
    return deserialize(record.value(), SerializationContext(record.topic(), MessageField.VALUE))


read_topics(decode)
