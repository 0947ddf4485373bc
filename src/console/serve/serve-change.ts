import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Html } from '../page/html.ts';
import { type Change, checkRole, type Fields, type Page, PageError, type PageRequest } from '../page/page.ts';
import { accepts, sentenceOf, showAgain } from './answer-error.ts';
import { frameOf, requestOf, type Serving } from './serve-page.ts';

/** One change: who may, from where, what; then the audit trail; then the change; then how it ended. */
export function serveChange(app: FastifyInstance, change: Change, page: Page, serving: Serving): void {
  // What other sites send in a user's name is not counted as theirs.
  const preHandler = [refuseOtherSites, app.csrfProtection, serving.limitChange];
  const carryOut = async (request: FastifyRequest, reply: FastifyReply, given: PageRequest) => {
    const input = change.read(fieldsOf(request, change), given);
    const entry = change.audited(input);
    const end = entry && (await serving.audit.begin({ user: given.user.name, ...entry }));
    let goesOn = false;
    const endsLater = () => {
      goesOn = true;
      return end ?? (async () => {});
    };
    let result: object;
    try {
      result = await change.make(input, given, endsLater);
    } catch (error) {
      await end?.('failed', sentenceOf(error));
      throw error;
    }
    if (!goesOn) await end?.('done');
    if (accepts(request) === 'json') return reply.send(result);
    const shown = change.show(result, given);
    if (!(shown instanceof Html)) return reply.redirect(shown.see, 303);
    const { title } = change;
    const cli = change.cli?.(input);
    return reply
      .type('text/html; charset=utf-8')
      .send(frameOf(page, given, serving, { content: shown, title, cli }).toString());
  };
  const keepForm = (request: FastifyRequest, given: PageRequest) => {
    const { body } = request;
    if (!change.again || accepts(request) !== 'html' || typeof body !== 'object' || body === null) return;
    showAgain(request, change.again(body as Fields, given));
  };
  app.post(change.path, { preHandler }, async (request, reply) => {
    const given = requestOf(request, reply, serving);
    checkRole(given, change.role);
    try {
      return await carryOut(request, reply, given);
    } catch (error) {
      keepForm(request, given);
      throw error;
    }
  });
}

function fieldsOf({ body }: FastifyRequest, { fields: known }: Change): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new PageError(400, 'Send the fields of a form, or a JSON object.');
  const { _csrf, ...fields } = body as Record<string, unknown>;
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new PageError(
      400,
      `There is no field ${JSON.stringify(unknown.slice(0, 100))} here. There are: ${known.join(', ')}.`,
    );
  return fields;
}

/** Browsers say where a request comes from, and no page can change that: a second lock beside the token. */
async function refuseOtherSites({ headers }: FastifyRequest): Promise<void> {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new PageError(403, 'This request comes from another site.');
}
