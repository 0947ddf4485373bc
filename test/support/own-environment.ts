import { afterAll } from 'vitest';

// Files of a worker share its process: what one of them sets, the next must not find (AWS's chain reads the process's own).
const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
