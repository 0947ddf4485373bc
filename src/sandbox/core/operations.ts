/** The operations of the interface, by their names in faults and in the request log. */
export const OPERATIONS = ['token', 'list', 'create', 'update', 'delete', 'replay'] as const;
export type Operation = (typeof OPERATIONS)[number];

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the routes of the interface; the sandbox's own routes have none. */
    operation?: Operation;
  }
}
