/** What is wrong, in words for whoever typed the command: shown without a stack trace. */
export class StackError extends Error {
  override readonly name: string = 'StackError';
}

/** Another program has begun to listen on a port after it was found free. */
export class PortTakenError extends StackError {
  override readonly name = 'PortTakenError';
}
