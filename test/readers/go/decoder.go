package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/sr"
)

// Decodes values in the registry's wire format with the schema that they were written with.
type decoder struct {
	api      avro.API
	registry *sr.Client
	schemas  map[int]*avro.RecordSchema
}

func newDecoder(api avro.API) (*decoder, error) {
	registry, err := sr.NewClient(sr.URLs(os.Getenv("SCHEMA_REGISTRY_URL")))
	if err != nil {
		return nil, err
	}
	return &decoder{api: api, registry: registry, schemas: map[int]*avro.RecordSchema{}}, nil
}

func (d *decoder) decode(ctx context.Context, value []byte) (map[string]any, error) {
	var header sr.ConfluentHeader
	id, data, err := header.DecodeID(value)
	if err != nil {
		return nil, err
	}
	schema, err := d.writerSchema(ctx, id)
	if err != nil {
		return nil, err
	}
	var decoded any
	if err := d.api.Unmarshal(schema, data, &decoded); err != nil {
		return nil, err
	}
	return plainRecord(schema, decoded)
}

func (d *decoder) writerSchema(ctx context.Context, id int) (*avro.RecordSchema, error) {
	if known, ok := d.schemas[id]; ok {
		return known, nil
	}
	registered, err := d.registry.SchemaByID(ctx, id)
	if err != nil {
		return nil, err
	}
	// A cache of its own for each: versions define the same names differently.
	parsed, err := avro.ParseWithCache(registered.Schema, "", &avro.SchemaCache{})
	if err != nil {
		return nil, err
	}
	record, ok := parsed.(*avro.RecordSchema)
	if !ok {
		return nil, fmt.Errorf("schema %d is no record", id)
	}
	d.schemas[id] = record
	return record, nil
}

// A decoded value without the wrappings that hamba/avro gives to a union's records and arrays, and with times in milliseconds.
func plain(schema avro.Schema, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	switch known := schema.(type) {
	case *avro.RefSchema:
		return plain(known.Schema(), value)
	case *avro.UnionSchema:
		_, inner := known.Indices()
		return plainBranch(known.Types()[inner], value)
	case *avro.RecordSchema:
		return plainRecord(known, value)
	case *avro.ArraySchema:
		return plainArray(known, value)
	}
	if at, ok := value.(time.Time); ok {
		return at.UnixMilli(), nil
	}
	return value, nil
}

func plainBranch(schema avro.Schema, value any) (any, error) {
	if wrapped, ok := value.(map[string]any); ok && len(wrapped) == 1 {
		for name, inner := range wrapped {
			if name == typeName(schema) {
				return plain(schema, inner)
			}
		}
	}
	return plain(schema, value)
}

func typeName(schema avro.Schema) string {
	if reference, ok := schema.(*avro.RefSchema); ok {
		return reference.Schema().FullName()
	}
	if named, ok := schema.(avro.NamedSchema); ok {
		return named.FullName()
	}
	return string(schema.Type())
}

func plainRecord(schema *avro.RecordSchema, value any) (map[string]any, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is a %T", schema.FullName(), value)
	}
	record := map[string]any{}
	for _, field := range schema.Fields() {
		inner, err := plain(field.Type(), fields[field.Name()])
		if err != nil {
			return nil, err
		}
		record[field.Name()] = inner
	}
	return record, nil
}

func plainArray(schema *avro.ArraySchema, value any) ([]any, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("an array is a %T", value)
	}
	array := make([]any, 0, len(items))
	for _, item := range items {
		inner, err := plain(schema.Items(), item)
		if err != nil {
			return nil, err
		}
		array = append(array, inner)
	}
	return array, nil
}
