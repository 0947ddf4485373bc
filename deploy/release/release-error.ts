/** A release that cannot be built, or is refused: the message is for whoever typed the command, without a stack trace. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}
