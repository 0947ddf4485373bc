import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registrySettings, schemaSettings } from '../../../src/avro/registry-settings.ts';
import { sandboxUrlSettings } from '../../../src/cli/trigger-command.ts';
import { verifySettings } from '../../../src/cli/verify/verify-settings.ts';
import { commandTopicSetting } from '../../../src/config/command-topics.ts';
import type { Setting } from '../../../src/config/env.ts';
import { consoleConfig } from '../../../src/console/settings/console-config.ts';
import { controlConfig } from '../../../src/control/config.ts';
import { RESULT_STATUSES, type ResultStatus } from '../../../src/core/command.ts';
import { ERRORS, type ErrorCode } from '../../../src/core/errors.ts';
import { ingressConfig } from '../../../src/ingress/settings.ts';
import {
  durabilitySettings,
  kafkaSettings,
  recordSizeSettings,
  topicSettings,
} from '../../../src/kafka/connect/settings.ts';
import { dialectSettings } from '../../../src/provider/settings.ts';
import { sandboxSettings } from '../../../src/sandbox/config.ts';
import { ROOT } from '../source-tree.ts';
import { licencesOf } from '../supply/licences.ts';

/** The tables of docs/ that are made from the code, by the name in their markers. */
export const TABLES: Readonly<Record<string, () => string>> = {
  configuration: configurationTable,
  sandbox: sandboxTable,
  errors: errorTable,
  statuses: statusTable,
  'licences of the image': () => licenceTable(true),
  'licences of development': () => licenceTable(false),
};

type Use = { readonly setting: Setting<unknown>; readonly by: Set<string>; readonly neededBy: Set<string> };

/** Every variable of ingress, control, the console and the CLI, and by which of them it is read. */
function configurationTable(): string {
  const uses = new Map<string, Use>();
  const note = (by: string, groups: object) => {
    for (const group of Object.values(groups)) {
      for (const setting of Object.values(group) as Setting<unknown>[]) {
        const use = uses.get(setting.name) ?? { setting, by: new Set(), neededBy: new Set() };
        if (setting.required && setting.fallback === undefined) use.neededBy.add(by);
        // Where one of them derives the default from another variable, that says more than none.
        const told = setting.fallback && !use.setting.fallback ? setting : use.setting;
        uses.set(setting.name, { ...use, setting: told, by: use.by.add(by) });
      }
    }
  };
  note('ingress', ingressConfig);
  note('control', controlConfig);
  note('CLI', [kafkaSettings, durabilitySettings, topicSettings, registrySettings, schemaSettings]);
  note('CLI', [
    { commandTopics: commandTopicSetting('{TOPIC_PREFIX}') },
    recordSizeSettings,
    dialectSettings,
    sandboxUrlSettings,
    verifySettings,
  ]);
  note('console', consoleConfig('{TOPIC_PREFIX}'));
  const rows = [...uses.values()].map(({ setting, by, neededBy }) => [
    code(setting.name),
    [...by].join(', '),
    neededBy.size === 0 || neededBy.size === by.size
      ? fallback(setting)
      : `**required** by ${[...neededBy].join(', ')}`,
    setting.about,
  ]);
  return markdown(['variable', 'read by', 'default', 'what it is'], rows);
}

function sandboxTable(): string {
  const rows = Object.values(sandboxSettings).map((setting) => [
    code(setting.name),
    fallback(setting),
    setting.about,
  ]);
  return markdown(['variable', 'default', 'what it is'], rows);
}

/** What keeps a process from being ready; it logs the others alone, and some end it. */
const IN_READINESS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['KAFKA_UNAVAILABLE', 'KAFKA_REFUSED', 'PLAINTEXT_CREDENTIALS', 'CREDENTIALS_INVALID'] as const),
  ...(['ACCESS_TOKEN_REFUSED', 'ACCESS_TOKEN_UNAVAILABLE', 'TOPICS_UNSAFE', 'TOPICS_MISSING'] as const),
  ...(['SCHEMA_NOT_REGISTERED', 'REGISTRY_REFUSED', 'REGISTRY_UNAVAILABLE'] as const),
]);

/** Every row of the error table: what a webhook is answered, what a command's result says. */
function errorTable(): string {
  const rows = (Object.keys(ERRORS) as ErrorCode[]).map((name) => {
    const row: {
      status: number | null;
      retryable: boolean;
      deadLetter?: string;
      result?: string;
      text: string;
    } = ERRORS[name];
    const seen = [
      row.status === null ? '' : `HTTP ${row.status}`,
      row.deadLetter && `dead-letter record, stage ${row.deadLetter}`,
      row.result && `command ${row.result}`,
    ];
    return [
      code(name),
      seen.filter(Boolean).join('; ') || (IN_READINESS.has(name) ? 'log, readiness' : 'log'),
      row.retryable ? 'yes' : 'no',
      row.text,
    ];
  });
  return markdown(['code', 'seen as', 'retryable', 'what it says'], rows);
}

/** What a result's status means; its codes are those of the error table. */
const STATUSES: Record<ResultStatus, string> = {
  SUCCEEDED: 'the command is done',
  REJECTED: 'the command cannot be carried out as it is; nothing was changed',
  FAILED: 'the provider did not carry it out',
  EXPIRED: 'it was read after its `expiresAt`; nothing was changed',
  DUPLICATE:
    'it was carried out before, or another command has the same `commandId`; this record changed nothing',
  DRIFT:
    'not the result of a command: the provider and the state differ; a record without a code says that they agree again',
};

function statusTable(): string {
  const codesOf = (status: ResultStatus) =>
    Object.entries<{ status: number | null; result?: string }>(ERRORS)
      .filter(([, { result }]) => result === status)
      .map(([name]) => code(name));
  const rows = RESULT_STATUSES.map((status) => [
    code(status),
    STATUSES[status],
    codesOf(status).join(', ') || '–',
  ]);
  return markdown(['status', 'what it means', '`errorCode`'], rows);
}

/** A row per licence: what is in the image, or what only developers run. */
function licenceTable(isShipped: boolean): string {
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const packages = licencesOf(lock).filter((one) => one.isShipped === isShipped);
  const byLicence = Object.entries(Object.groupBy(packages, ({ licence }) => licence));
  const rows = byLicence
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([licence, some = []]) => [
      licence,
      String(some.length),
      some.map(({ name, version }) => `${name}@${version}`).join(', '),
    ]);
  return markdown(['licence', 'packages', 'names and versions'], rows);
}

function fallback({ name, fallback: text, required }: Setting<unknown>): string {
  if (text === undefined && required) return '**required**';
  if (!text) return '–';
  const measure = inMeasure(name, Number(text));
  // Each part apart, so that a table can break between them.
  return text.split(',').map(code).join(', ') + (measure && ` (${measure})`);
}

/** By the end of the variable's name, what its value counts; from large to small. */
const MEASURES: Readonly<Record<string, readonly (readonly [number, string])[]>> = {
  BYTES: [
    [1024 ** 3, 'GiB'],
    [1024 ** 2, 'MiB'],
    [1024, 'KiB'],
  ],
  MS: [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ],
};

/** Such as 50 MiB for 52428800 bytes; empty where no larger unit divides it. */
function inMeasure(name: string, value: number): string {
  const units = MEASURES[name.split('_').at(-1) ?? ''] ?? [];
  const unit = units.find(([size]) => value > 0 && value % size === 0);
  return unit ? `${value / unit[0]} ${unit[1]}` : '';
}

const code = (text: string) => `\`${text}\``;

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Writes the named tables into a document, each between its markers. */
export const withTables =
  (...names: readonly (keyof typeof TABLES)[]) =>
  (document: string): string =>
    names.reduce((text, name) => between(text, name, TABLES[name]?.() ?? ''), document);

/** Replaces what stands between the markers of a generated table. */
export function between(document: string, name: string, table: string): string {
  const place = new RegExp(`(<!-- ${name}: generated by make docs -->\n)[\\s\\S]*?(\n<!-- end -->)`);
  if (!place.test(document)) throw new Error(`the document has no markers for the table ${name}`);
  return document.replace(place, (_, begin: string, end: string) => `${begin}\n${table}\n${end}`);
}
