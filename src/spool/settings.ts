import { integer, optional, text } from '../core/env-settings.ts';

const GIB = 1024 ** 3;

export const spoolSettings = {
  dir: optional(
    text('SPOOL_DIR', {
      about: 'folder, on a volume of its own, that keeps events while Kafka is away; unset means no spool',
    }),
  ),
  maxBytes: integer('SPOOL_MAX_BYTES', {
    about: 'most bytes that the spool may take; the volume should have 64 MiB more',
    fallback: String(GIB),
    min: 1024 ** 2,
  }),
};
