import { Fault, type Setting, setting } from '../../config/env.ts';

/** `view`: reads. `operate`: also changes. `reveal`: also sees fields that the schemas tag as sensitive. A user can have both of the last two. */
export const ROLES = ['view', 'operate', 'reveal'] as const;
export type Role = (typeof ROLES)[number];

/** Who sends a request. */
export type User = {
  /** As the audit trail names them. */
  readonly name: string;
  readonly roles: ReadonlySet<Role>;
};

/** As long as the name of who dismisses a dead-letter record, which is a header of its marker (`hookline dlq dismiss --by`). */
const MAX_NAME = 100;

/** Why a name cannot be the user's in the audit trail and in markers, as a sentence; null where it can. */
export function nameFault(name: string): string | null {
  const length = [...name].length;
  if (length > MAX_NAME)
    return `The name of the user has ${length} characters, and the console takes at most ${MAX_NAME}.`;
  // Some of them change the order in which the text around them is shown.
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)
    ? 'The name of the user has control or format characters.'
    : null;
}

/** Whether a user may do what needs a role. Each role includes `view`; `operate` and `reveal` do not include each other. */
export const may = ({ roles }: User, role: Role): boolean =>
  role === 'view' ? roles.size > 0 : roles.has(role);

export type RoleRule = { readonly group: string; readonly role: Role };

/** Of everyone who is logged in. */
const EVERYONE = '*';

export const rolesOf = (groups: readonly string[], rules: readonly RoleRule[]): ReadonlySet<Role> =>
  new Set(rules.filter(({ group }) => group === EVERYONE || groups.includes(group)).map(({ role }) => role));

/** The groups that have a role. */
export const groupsOf = (rules: readonly RoleRule[]): string[] => [
  ...new Set(rules.map(({ group }) => group)),
];

/** CONSOLE_ROLES: `group=role`, separated by commas. */
export const rolesSetting: Setting<readonly RoleRule[]> = setting(
  'CONSOLE_ROLES',
  {
    about:
      'roles by group, as group=role separated by commas, such as `payments=view,payments-oncall=operate,payments-leads=reveal`; roles are view, operate and reveal, the group * is everyone who is logged in, and a comma within a name is written %2C',
    fallback: '',
  },
  (text) =>
    Object.freeze(
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
        .map(readRule),
    ),
);

/** At the last equals sign: the names of LDAP groups have some of their own. */
function readRule(entry: string): RoleRule {
  const [, name = '', role] = /^(.*)=(.*)$/s.exec(entry) ?? [];
  const known = ROLES.find((one) => one === role?.trim());
  if (name.trim() === '' || known === undefined)
    throw new Fault(
      `has the entry ${JSON.stringify(entry)}: give group=role; roles are ${ROLES.join(', ')}.`,
    );
  return { group: decoded(name.trim()), role: known };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
