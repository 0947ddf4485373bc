/** @param neverAnswered whether no method but `connect` has come to its end yet */
type Explain = (error: unknown, neverAnswered: boolean) => unknown;

/**
 * The same client, whose methods reject with errors that say what to mend. `explain` gives back as it is what it can't
 * explain, so that whoever looks at an error's type still finds it.
 */
export function explaining<C extends object>(client: C, explain: Explain): C {
  let neverAnswered = true;
  const wrap = (name: string, method: unknown) => {
    if (typeof method !== 'function') return method;
    return (...args: unknown[]) => {
      const result: unknown = method(...args);
      if (!(result instanceof Promise)) return result;
      return result.then(
        (value) => {
          if (!/^(dis)?connect$/.test(name)) neverAnswered = false;
          return value;
        },
        (error) => Promise.reject(explain(error, neverAnswered)),
      );
    };
  };
  const wrapped = Object.entries(client).map(([name, method]) => [name, wrap(name, method)]);
  return Object.fromEntries(wrapped) as C;
}
