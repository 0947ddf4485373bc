import { type CommandInput, makeCommand } from '../../cli/command/make-command.ts';
import { publishOnce } from '../../cli/shell/send-commands.ts';
import { COMMAND_TYPES, commandRecord } from '../../core/command.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { address } from '../page/html.ts';
import {
  type Change,
  defineChange,
  type Fields,
  flagOf,
  orPageError,
  PageError,
  type PageRequest,
  textOf,
} from '../page/page.ts';

export type SentCommand = {
  readonly command: ReturnType<typeof makeCommand>;
  readonly topic: string;
};

/** Commands that this process has sent, until their results come: no more than this. */
const MOST = 1_000;

/** What was sent from here, so that a page can say what it waits for. */
export class SentCommands {
  readonly #sent = new Map<string, SentCommand>();
  add(one: SentCommand): void {
    this.#sent.set(one.command.commandId, one);
    for (const oldest of this.#sent.keys()) if (this.#sent.size > MOST) this.#sent.delete(oldest);
  }
  of = (commandId: string): SentCommand | undefined => this.#sent.get(commandId);
}

const FIELDS = [
  'type',
  'topic',
  'ref',
  'events',
  'executionIds',
  'extra',
  'expiresAt',
  'expiresIn',
  'dryRun',
  'ifMatch',
  'commandId',
];

/** Sends a command to control, as `hookline command` does. */
export const sendCommand = ({ kafka }: ConsoleDeps, topics: readonly string[], sent: SentCommands): Change =>
  defineChange<SentCommand, { commandId: string; topic: string }>({
    path: '/commands',
    title: 'Command',
    role: 'operate',
    fields: FIELDS,
    read: (fields, request) => readCommand(fields, request, topics),
    audited: ({ command: { type, commandId, ref, events, executionIds, dryRun, ifMatch }, topic }) => ({
      action: `command ${type}`,
      details: { commandId, topic, ref, events, executionIds: executionIds?.length, dryRun, ifMatch },
    }),
    async make({ command, topic }) {
      await publishOnce(kafka, [commandRecord(topic, command)]);
      sent.add({ command, topic });
      return { commandId: command.commandId, topic };
    },
    show: ({ commandId }) => ({ see: address('/commands', commandId) }),
  });

function readCommand(fields: Fields, { user }: PageRequest, topics: readonly string[]): SentCommand {
  const type = COMMAND_TYPES.find((one) => one === fields.type);
  if (!type) throw new PageError(400, `type must be one of ${COMMAND_TYPES.join(', ')}.`);
  const topic = textOf(fields, 'topic') || topics[0];
  if (topic === undefined || !topics.includes(topic))
    throw new PageError(400, `topic must be one of ${topics.join(', ')}: COMMAND_TOPICS lists them.`);
  const given = (name: string) => textOf(fields, name) || undefined;
  const expiry = given('expiresAt') === undefined ? 'expiresIn' : 'expiresAt';
  const input: CommandInput = {
    ref: given('ref'),
    events: listOf(fields, 'events'),
    executionIds: listOf(fields, 'executionIds'),
    extra: extraOf(fields),
    expiresIn: given(expiry),
    dryRun: flagOf(fields, 'dryRun'),
    ifMatch: given('ifMatch'),
    // Who sends a command again, as the answer was lost, gives its id: it is carried out once.
    commandId: given('commandId'),
    // Whoever is logged in, and nobody else.
    issuedBy: user.name,
  };
  const nameOf = (field: keyof CommandInput) => (field === 'expiresIn' ? expiry : field);
  return { command: orPageError(() => makeCommand(type, input, nameOf)), topic };
}

/** Text with commas, or a list as JSON has it. */
function listOf(fields: Fields, name: string): string[] | undefined {
  const { [name]: value } = fields;
  const texts = Array.isArray(value) ? value : textOf(fields, name).split(',');
  if (!texts.every((one) => typeof one === 'string'))
    throw new PageError(400, `${name} must be a list of texts.`);
  const found = texts.map((one: string) => one.trim()).filter((one) => one !== '');
  return found.length === 0 ? undefined : found;
}

function extraOf({ extra }: Fields): string | undefined {
  if (typeof extra === 'object' && extra !== null) return JSON.stringify(extra);
  return textOf({ extra }, 'extra') || undefined;
}
