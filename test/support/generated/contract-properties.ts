import { type AvroField, type AvroSchema, type AvroType, qualify } from '../../../src/avro/avro-schema.ts';
import { tagsOf } from '../../../src/avro/tagged-type.ts';

/** A property of a data contract (ODCS 3.1), as far as an Avro field fills it. */
export type Property = {
  name?: string;
  logicalType: string;
  physicalType: string;
  required?: boolean;
  logicalTypeOptions?: Record<string, unknown>;
  description?: string;
  classification?: string;
  tags?: readonly string[];
  customProperties?: { property: string; value: unknown }[];
  quality?: readonly object[];
  properties?: Property[];
  items?: Property;
};

type DocumentedField = AvroField & { readonly doc?: string };

const LOGICAL: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  record: 'object',
  array: 'array',
};

/** What carries any `confluent:tags`. ODCS leaves the words to the organisation; this is one that its examples have. */
const CLASSIFICATION = 'confidential';

/** The fields of an Avro record as properties, at every depth. */
export function propertiesOf(schema: AvroType): Property[] {
  const { schema: qualified, types } = qualify(schema);

  const fieldOf = (field: DocumentedField): Property => {
    const { inner, nullable } = nullableOf(field.type);
    const tags = tagsOf(field, types);
    const { customProperties = [], ...type } = typeOf(inner);
    const custom = [
      ...customProperties,
      ...(typeof field.pointer === 'string' ? [{ property: 'pointer', value: field.pointer }] : []),
    ];
    return {
      name: field.name,
      ...(field.doc !== undefined && { description: field.doc }),
      ...type,
      required: !nullable,
      ...(tags.length > 0 && { classification: CLASSIFICATION, tags }),
      ...(custom.length > 0 && { customProperties: custom }),
    };
  };

  const typeOf = (type: AvroSchema): Property => {
    if (typeof type === 'string') {
      const named = types.get(type);
      return named ? typeOf(named) : primitive(type);
    }
    if (Array.isArray(type)) throw new Error(`a union of several types cannot be a property: ${type}`);
    if (type.logicalType === 'timestamp-millis') return TIMESTAMP;
    if (type.type === 'record')
      return { ...primitive('record'), properties: (type.fields ?? []).map(fieldOf) };
    if (type.type === 'array') return { ...primitive('array'), items: itemsOf(type.items ?? 'null') };
    return typeOf(type.type);
  };

  const itemsOf = (items: AvroSchema): Property => {
    const { inner, nullable } = nullableOf(items);
    return { ...typeOf(inner), required: !nullable };
  };

  return (qualified.fields ?? []).map(fieldOf);
}

/** Names that datacontract-cli knows: without them it would export a plain long. */
const TIMESTAMP: Property = {
  logicalType: 'timestamp',
  physicalType: 'long',
  customProperties: [{ property: 'avroLogicalType', value: 'timestamp-millis' }],
};

function primitive(type: string): Property {
  // ODCS 3.1 has no bytes: `binary` is the format that it names for them.
  if (type === 'bytes') {
    const customProperties = [{ property: 'avroType', value: 'bytes' }];
    return {
      logicalType: 'string',
      physicalType: 'bytes',
      logicalTypeOptions: { format: 'binary' },
      customProperties,
    };
  }
  const logicalType = LOGICAL[type];
  if (logicalType === undefined)
    throw new Error(`the Avro type ${JSON.stringify(type)} has no place in ODCS`);
  return { logicalType, physicalType: type };
}

function nullableOf(type: AvroSchema): { inner: AvroSchema; nullable: boolean } {
  if (!Array.isArray(type) || type[0] !== 'null' || type.length !== 2)
    return { inner: type, nullable: false };
  return { inner: type[1] ?? 'null', nullable: true };
}
