/** A subscription as a file wants it. */
export type WantedSubscription = {
  readonly ref: string;
  /** Under our names, sorted; null of one that is adopted with whatever events it has. */
  readonly events: readonly string[] | null;
  /** It exists at the payment service, and is taken over instead of created. */
  readonly adopt: boolean;
  readonly extra: Readonly<Record<string, unknown>>;
  /** Where it stands, as file:line:column. */
  readonly at: string;
};

/** The whole of a file. */
export type WantedSubscriptions = {
  /** The command topic that owns them; undefined where the file names none. */
  readonly topic: string | undefined;
  readonly subscriptions: readonly WantedSubscription[];
};
