import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkConfig, formatProblem } from '#config/index.ts';
import { secretSources } from '#lib/secret-ref.ts';
import { version } from '#lib/version.ts';

const root = join(import.meta.dirname, '../..');
const example = join(root, 'config/siteward.example.yaml');

test('the example file has no error; only its secrets are not there', () => {
  const { problems, warnings, loaded } = checkConfig(example, {
    sources: secretSources({}),
    unreadableSecrets: 'degrade',
  });
  expect(problems.map(formatProblem)).toEqual([]);
  expect(loaded?.settings.site.external_id).toBe('hq');
  expect(warnings.every((line) => line.includes('cannot be read'))).toBe(true);
});

test('every key of the example is explained on its line or above its section', () => {
  const bare = readFileSync(example, 'utf8')
    .split('\n')
    .filter((line) => /^\s+(- )?[a-z_]+: \S/.test(line) && !line.includes('#'));
  expect(bare.filter((line) => !/^\s+p1: /.test(line))).toEqual([]);
});

test('the JSON schema accepts the example and refuses an unknown key', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    JSON.parse(readFileSync(join(root, 'config/siteward.schema.json'), 'utf8')),
  );
  const value = parse(readFileSync(example, 'utf8'));
  expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...value, camras: [] })).toBe(false);
});

test('the JSON schema shows defaults as they are written in the file', () => {
  const schema = JSON.parse(readFileSync(join(root, 'config/siteward.schema.json'), 'utf8'));
  const { media, partitions } = schema.properties;
  expect(media.properties.interval.default).toBe('1s');
  expect(media.properties.budget.default).toBe('512MB');
  expect(partitions.items.properties.exit_delay.default).toBe('1m');
  expect(schema.required).toEqual(['site', 'bridge', 'partitions']);
});

test('generated files are in step with the sources', () => {
  expect(() =>
    execFileSync(process.execPath, [join(root, 'tools/generate.ts'), '--check'], { stdio: 'pipe' }),
  ).not.toThrow();
});

test('the version in the sources is the one of package.json', () => {
  expect(version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
});
