/** What is wrong, in words for whoever typed the command: shown without a stack trace. */
export class StackError extends Error {
  override readonly name = 'StackError';
}
