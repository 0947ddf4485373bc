/** What Redpanda Connect makes of a webhook: less than Hookline's events have. */
export const EVENT_SCHEMA = {
  type: 'record',
  name: 'PaymentStatus',
  namespace: 'peers',
  fields: [
    { name: 'event_id', type: 'string' },
    { name: 'type', type: 'string' },
    { name: 'entity_id', type: 'string' },
    { name: 'status', type: 'string' },
    { name: 'occurred_at', type: 'long' },
    { name: 'source', type: 'string' },
  ],
};

export type RedpandaOptions = {
  /** Host and port. */
  readonly address: string;
  readonly path: string;
  readonly hmacKey: string;
  readonly encryptionKey: string;
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly registryUrl: string;
  readonly subject: string;
  /** Collects up to 128 records for 5 ms: better at many connections, slower at few. */
  readonly isBatched: boolean;
};

/** Its configuration with the two settings that were measured to be its best: few processors, 256 records under way. */
export function configOf(options: RedpandaOptions) {
  const { address, path, hmacKey, encryptionKey, brokers, topic, registryUrl, subject, isBatched } = options;
  const mapping = `
    let signature = content().hash("hmac_sha256", "${hmacKey}").encode("hex")
    root = if $signature != metadata("X-Signature-Sha256").or("") { throw("bad signature") }
    let body = content()
    let text = if metadata("Content-Type").or("") == "application/octet-stream" {
      $body.slice(12).decrypt_aes("gcm", "${encryptionKey}", $body.slice(0, 12)).string()
    } else {
      $body.string()
    }
    let doc = $text.parse_json()
    meta key = $doc.entityId
    root.event_id = uuid_v4()
    root.type = $doc.type
    root.entity_id = $doc.entityId
    root.status = $doc.payload.status
    root.occurred_at = $doc.payload.pacs002.FIToFIPmtStsRpt.GrpHdr.CreDtTm.ts_parse("2006-01-02T15:04:05Z").ts_unix_milli()
    root.source = $text
  `;
  const encode = { url: registryUrl, subject, avro_raw_json: true };
  return {
    http: { enabled: false },
    logger: { level: 'ERROR' },
    input: { http_server: { address, path, allowed_verbs: ['POST'], timeout: '30s' } },
    pipeline: { processors: [{ try: [{ mapping }, { schema_registry_encode: encode }] }] },
    output: {
      // Else it would answer 200 to what was not encoded.
      reject_errored: {
        kafka_franz: {
          seed_brokers: brokers,
          topic,
          // biome-ignore lint/suspicious/noTemplateCurlyInString: an interpolation of Redpanda Connect's.
          key: '${! metadata("key") }',
          max_in_flight: 256,
          metadata: { include_prefixes: [] },
          ...(isBatched && { batching: { count: 128, period: '5ms' } }),
        },
      },
    },
  };
}
