import { integer, optional, text } from '../config/env.ts';

const GIB = 1024 ** 3;

export const spoolSettings = {
  dir: optional(
    text('SPOOL_DIR', {
      about:
        'directory, on a volume of its own, that stores events while Kafka is unavailable; unset means no spool',
    }),
  ),
  maxBytes: integer('SPOOL_MAX_BYTES', {
    about: 'maximum number of bytes that the spool may use; the volume should have 64 MiB more',
    fallback: String(GIB),
    min: 1024 ** 2,
  }),
};
