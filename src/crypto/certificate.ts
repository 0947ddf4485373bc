import { X509Certificate } from 'node:crypto';

/** When the first certificate of a PEM file ends. Throws where there is none. */
export const certificateEnd = (pem: Buffer): Date => new X509Certificate(pem).validToDate;
