import type { Receipt } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { Tracer } from '../runtime/tracer.ts';
import { errorAnswer } from './answers.ts';

/**
 * Runs the way of one webhook under a span of its own.
 * @param work gets the traceparent that goes on with the event
 */
export async function traceWebhook(
  tracer: Tracer,
  webhook: { readonly ref: string; readonly traceparent: string | undefined },
  work: (traceparent: string | undefined) => Promise<Receipt>,
): Promise<Receipt> {
  const span = tracer.start('POST /webhooks/{ref}', {
    kind: 'server',
    parent: webhook.traceparent,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/webhooks/{ref}',
      'url.path': `/webhooks/${webhook.ref}`,
    },
  });
  try {
    const receipt = await work(span.traceparent);
    const { eventId, stored } = receipt;
    span.end({
      attributes: {
        'http.response.status_code': 200,
        'hookline.event_id': eventId,
        'hookline.stored': stored,
      },
    });
    return receipt;
  } catch (error) {
    const { status } = errorAnswer(error);
    const code = error instanceof HooklineError ? error.code : 'INTERNAL';
    // A refusal is the sender's fault, not this span's: so OpenTelemetry's conventions for a server have it.
    span.end({
      attributes: { 'http.response.status_code': status, 'hookline.refused': code },
      ...(status >= 500 && { errorCode: code }),
    });
    throw error;
  }
}
