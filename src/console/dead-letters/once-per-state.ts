/** What many open pages show of the same state is made once, and forgotten with the state. */
export class OncePerState<T> {
  #state = '';
  readonly #made = new Map<string, T>();

  /** @param key what it depends on beside the state */
  get(state: string, key: string, make: () => T): T {
    if (state !== this.#state) this.#made.clear();
    this.#state = state;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(key, made);
    return made;
  }
}
