/**
 * `node test/bench/profile/main.ts FILE [SECONDS]`: where the time of a .cpuprofile went, by package and by function,
 * without the first seconds.
 */
import { readFileSync } from 'node:fs';
import { type Share, sumProfile } from './sum-profile.ts';

const [file, after = '0'] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('node test/bench/profile/main.ts FILE.cpuprofile [SECONDS]\n');
  process.exit(2);
}
const { busyMicros, packages, functions } = sumProfile(
  JSON.parse(readFileSync(file, 'utf8')),
  Number(after) * 1e6,
);
const print = (title: string, shares: readonly Share[]) => {
  console.log(`\n${title}`);
  for (const { name, micros } of shares) {
    console.log(`${((100 * micros) / busyMicros).toFixed(1).padStart(6)} %  ${name}`);
  }
};
console.log(`busy for ${(busyMicros / 1e6).toFixed(2)} s`);
print('by package', packages.slice(0, 25));
print('by function', functions.slice(0, 50));
