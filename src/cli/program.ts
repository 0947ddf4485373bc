import { Command, CommanderError } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { ConfigError } from '../config/env.ts';
import { UsageError } from '../core/errors.ts';
import { addBodiesCommand } from './bodies/bodies-command.ts';
import { addCommandCommand } from './command/command-command.ts';
import { addConsoleCommand } from './console-command.ts';
import { addDlqCommand } from './dlq/dlq-command.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { addInspectCommand } from './inspect/inspect-command.ts';
import { addKeysCommand } from './keys/keys-command.ts';
import { addSchemasCommand } from './schemas/schemas-command.ts';
import { visible } from './shell/print-rows.ts';
import { describeError, type ExitCode, type Run, type Shell } from './shell/shell.ts';
import { addSpoolCommand } from './spool-command.ts';
import { addSubscriptionsCommand } from './subscriptions/subscriptions-command.ts';
import { addTailCommand } from './tail/tail-command.ts';
import { addTopicsCommand } from './topics-command.ts';
import { addTriggerCommand } from './trigger-command.ts';
import { addVerifyCommand } from './verify/verify-command.ts';

/**
 * Parses the arguments and runs the command. A failure is printed as one sentence on standard error, without a stack trace.
 * @param args without the program's name
 */
export async function runCli(args: readonly string[], outside: Shell): Promise<ExitCode> {
  const shell = withVisible(outside);
  let exitCode: ExitCode = 0;
  const run: Run =
    (action) =>
    async (...parameters) => {
      exitCode = await action(...(parameters as never[]));
    };
  try {
    await createProgram(shell, run).parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    shell.note(error instanceof ConfigError ? error.message : `hookline: ${describeError(error)}`);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

/** Output quotes text from outside, whose control characters must not reach the terminal. In JSON their escapes mean the same. */
const withVisible = (shell: Shell): Shell => ({
  ...shell,
  print: (line) => shell.print(visible(line)),
  note: (line) => shell.note(visible(line)),
});

/** Commander shows the help of what is before an unknown command, and calls it a success. Adds nothing to the help of a known one. */
function refuseUnknown(command: Command): string {
  const [first, second] = command.args;
  const name = first === 'help' ? second : first;
  const isCommand = name !== undefined && !name.startsWith('-') && command.commands.length > 0;
  if (isCommand && !command.commands.some((one) => one.name() === name))
    command.error(`error: unknown command '${name}'`);
  return '';
}

function createProgram(shell: Shell, run: Run): Command {
  const program = new Command('hookline')
    .description("Operates Hookline, which publishes a payment provider's webhooks to Kafka as Avro events.")
    .version(about.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => shell.print(text.trimEnd()),
      writeErr: (text) => shell.note(text.trimEnd()),
    })
    .showHelpAfterError('(hookline --help lists the commands)')
    .addHelpText('beforeAll', ({ command }) => refuseUnknown(command));
  addTopicsCommand(program, shell, run);
  addSchemasCommand(program, shell, run);
  addCommandCommand(program, shell, run);
  addSubscriptionsCommand(program, shell, run);
  addTailCommand(program, shell, run);
  addInspectCommand(program, shell, run);
  addDlqCommand(program, shell, run);
  addBodiesCommand(program, shell, run);
  addKeysCommand(program, shell, run);
  addSpoolCommand(program, shell, run);
  addDoctorCommand(program, shell, run);
  addVerifyCommand(program, shell, run);
  addTriggerCommand(program, shell, run);
  addConsoleCommand(program, shell, run);
  for (const command of program.commands) nameItsHelp(command, program.name());
  return program;
}

/** Whoever left out an argument needs the help of that command, and not the list of all. */
function nameItsHelp(command: Command, before: string): void {
  const name = `${before} ${command.name()}`;
  const what = command.commands.length > 0 ? 'the commands' : 'arguments and options';
  command.showHelpAfterError(`(${name} --help lists ${what})`);
  for (const one of command.commands) nameItsHelp(one, name);
}
