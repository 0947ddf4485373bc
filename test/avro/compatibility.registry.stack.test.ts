import { describe, inject } from 'vitest';
import { agreesWithRegistry } from '../support/registry-agreement.ts';

describe('the rules of compatibility', () => {
  agreesWithRegistry(() => inject('registryUrl'), { bases: 5, changesEach: 20 });
});
