#!/usr/bin/env node

import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { openRegistry } from '../avro/open-registry.ts';
import { nodeSource } from '../config/env.ts';
import { passwordIn, renewedFrom } from '../config/renewed-files.ts';
import { deriveKey } from '../crypto/keys.ts';
import { LARGE_RECORDS, openKafka } from '../kafka/open-kafka.ts';
import { createProbes } from '../runtime/admin-server.ts';
import { systemClock as clock } from '../runtime/clock.ts';
import type { Components } from '../runtime/components.ts';
import { hostToListenOn } from '../runtime/listen-host.ts';
import { clientLog, createLogger } from '../runtime/logger.ts';
import { observeFiles } from '../runtime/observe-files.ts';
import { configOrExit, runProcess } from '../runtime/process-shell.ts';
import { createStartGate } from '../runtime/start-gate.ts';
import { limitHeapGrowth } from '../runtime/v8-flags.ts';
import { observeTokens } from '../tokens/observe-tokens.ts';
import { createIdentify } from './access/access.ts';
import { openOidc } from './access/open-oidc.ts';
import { createSessions } from './access/sessions.ts';
import type { ConsoleDeps } from './page/console-deps.ts';
import { consolePages } from './pages.ts';
import { createConsoleApp } from './serve/app.ts';
import { openAudit } from './serve/audit.ts';
import { consoleConfig, loadConsoleConfig } from './settings/console-config.ts';
import { groupsOf } from './settings/roles.ts';

limitHeapGrowth();
const source = nodeSource(process.env);
const config = configOrExit(() => loadConsoleConfig(source));
const logger = createLogger({ name: 'hookline-console', level: config.runtime.logLevel });
const files = observeFiles(logger);
const connecting = { files, clock, tokenLog: observeTokens(logger) };
const registry = configOrExit(() => openRegistry(config.registry, connecting));
const reaching = { settings: config.kafka, clientId: 'hookline-console', log: clientLog(logger) };
// Its jobs redrive large bodies.
const requestTimeoutMs = LARGE_RECORDS.requestMs;
const kafka = configOrExit(() => openKafka({ ...reaching, ...connecting, requestTimeoutMs }));

const { console: settings } = config;
const { oidcClientSecretFile: path, publicUrl } = settings;
const isSecure = publicUrl?.startsWith('https:') ?? false;
const secretFile = { variable: 'CONSOLE_OIDC_CLIENT_SECRET_FILE', path: path ?? '' };
const clientSecret = path === undefined ? undefined : configOrExit(() => readRenewed(secretFile));
const sessions =
  clientSecret &&
  createSessions({
    key: () => deriveKey(clientSecret(), 'hookline console session'),
    isSecure,
    groups: groupsOf(settings.roles),
  });
const login = sessions && { oidc: openOidc(settings, clientSecret), sessions, publicUrl, logger };

/** The components, in the order in which they start; they stop in reverse. Nothing here waits for Kafka: the console shows what is wrong. */
async function start({ add, stopping }: Components): Promise<void> {
  const probes = createProbes();
  const gate = createStartGate({ logger, probes, stopping });
  const audit = add('audit', openAudit({ kafka, prefix: config.topics.prefix, logger, clock }));
  const note = (line: string) => logger.debug({ line }, 'note');
  const shell = { source, print: note, write: async () => {}, note, signal: stopping };
  const deps: ConsoleDeps = { config, kafka, registry, shell, clock, logger, add };
  const app = await createConsoleApp({
    login,
    audit,
    probes,
    logger,
    clock,
    isSecure,
    stopping,
    pages: consolePages(deps),
    identify: createIdentify(settings, sessions),
  });
  add('http', { stop: () => app.close() });
  await app.listen({ host: await hostToListenOn(settings.host), port: settings.port });
  const { address, port } = app.server.address() as AddressInfo;
  logger.info({ address, port }, 'console listening');
  gate.open();
}

/** A secret as it is in its file now. */
function readRenewed(file: typeof secretFile): () => string {
  const make = ([content]: readonly Buffer[]) => passwordIn(content as Buffer, file);
  return renewedFrom({ files: [file], read: (name) => readFileSync(name), make, observer: files });
}

const { stopDeadlineMs } = config.runtime;
const { prefix } = config.topics;
await runProcess({ logger, groups: consoleConfig(prefix), config, env: process.env, stopDeadlineMs, start });
