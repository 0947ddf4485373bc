/** How a command ends that does not simply succeed, and what is found at the provider. */
export const COMMAND_ERRORS = {
  // Commands: the result's status
  COMMAND_INVALID: {
    status: null,
    retryable: false,
    deadLetter: 'COMMAND',
    result: 'REJECTED',
    text: 'the command cannot be read or is incomplete',
  },
  COMMAND_EXPIRED: {
    status: null,
    retryable: false,
    result: 'EXPIRED',
    text: 'the command was read after its expiresAt',
  },
  COMMAND_DUPLICATE: {
    status: null,
    retryable: false,
    result: 'DUPLICATE',
    text: 'another command with this commandId has its result already',
  },
  NOT_OWNER: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the ref does not belong to this command topic: a ref belongs to the topic that created it, and a topic takes only refs that match its pattern in COMMAND_TOPICS',
  },
  PRECONDITION_FAILED: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'ifMatch does not name the command that changed the ref last',
  },
  UNKNOWN_REF: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'no active subscription has this ref: create it, or adopt the one that the provider has',
  },
  REF_IN_USE: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the ref has an active subscription, or another ref has the one to adopt: update or delete the ref that has it',
  },
  URL_IN_USE: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: "the provider has a subscription for this ref's address that was not created for this ref: adopt it, or update the ref that has it",
  },
  UNKNOWN_EVENT: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the dialect has no such event',
  },
  EXTRA_CONFLICT: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: "extra may only add fields that the dialect's extra.allow names, and nothing in it may set the address, the events or the key",
  },
  STATE_FENCED: {
    status: null,
    retryable: true,
    text: 'another control process has claimed the state since: the command starts again, in either process',
  },
  KEYS_MISSING: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'to adopt a subscription, SECRETS_DIR/{ref} must hold its signing-secret',
  },
  KEYS_INVALID: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'a file of SECRETS_DIR/{ref} cannot be used',
  },
  KEYS_SEALED: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'no line of SEALING_KEY_FILE opens the keys of the ref, which would be lost; add the line, or give them up by ifMatch',
  },
  SUBSCRIPTION_NOT_FOUND: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the provider has no such subscription or run',
  },
  COMMAND_TIMED_OUT: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the command did not end within COMMAND_DEADLINE_MS; if it is sent again, it first checks what exists',
  },
  // The provider
  TOKEN_REFUSED: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the provider gives no access token: check the JWT',
  },
  JWT_UNAVAILABLE: {
    status: null,
    retryable: true,
    text: 'PROVIDER_JWT_FILE cannot be read, or no JWT can be signed with PROVIDER_JWT_KEY_FILE',
  },
  TOKEN_UNAVAILABLE: { status: null, retryable: true, text: 'the authentication API does not answer' },
  PROVIDER_REFUSED: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the provider refused the request',
  },
  PROVIDER_UNAVAILABLE: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the provider did not do it before the deadline',
  },
  PROVIDER_ANSWER_INVALID: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: "the provider's answer does not have the dialect's shape",
  },
  // The reconciler: the provider differs from the state
  SUBSCRIPTION_MISSING: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the provider no longer lists the subscription',
  },
  SUBSCRIPTION_CHANGED: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the provider has the subscription with another address or other events',
  },
  SUBSCRIPTION_DISABLED: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the provider lists the subscription as not active',
  },
  SUBSCRIPTION_FOREIGN: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the provider has a subscription that Hookline did not create: adopt it, or leave it',
  },
} as const;
