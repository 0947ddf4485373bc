/**
 * Node's HTTP, as `import … from 'node:http'` gives it, without what that costs: an import of a built-in module reads each of its
 * exports, and some of node:http's load Node's own fetch client, 13 MiB and 60 ms, which no process uses that runs on (Node 24).
 */
const http = process.getBuiltinModule('node:http');

export const { Agent, createServer, IncomingMessage, request } = http;
