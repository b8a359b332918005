import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import { certificatesCheck } from '../../src/cli/doctor/certificates.ts';
import { certificate } from '../harness/certificate.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-certificates-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function looked(http: object, mqtt: object = { broker: 'mqtt://127.0.0.1:1' }) {
  const found = await certificatesCheck.look(
    {
      ...{ file: 'siteward.yaml', root: '/', config: { problems: [], warnings: [] } },
      settings: { store: { dir: folder }, http, mqtt } as unknown as Settings,
      daemon: { pid: undefined, status: undefined, control: undefined, why: 'it is not asked' },
    },
    new AbortController().signal,
  );
  return found.map(({ state, subject }) => `${subject ?? ''} ${state}`);
}

it('warns before one of the site ends, and fails where it is none', async () => {
  const { file } = certificate(folder);
  const http = { listen: '0.0.0.0:8443', certificate: { cert: file } };
  expect(await looked(http)).toEqual(['page and LAN API warning']);
  writeFileSync(file, 'no certificate');
  expect(await looked(http)).toEqual(['page and LAN API failed']);
  expect(await looked({}, { broker: 'mqtts://127.0.0.1:1', ca: file })).toEqual(['authority of the broker failed']);
});

it('finds nothing wrong with own ones that were not needed yet, and nothing at all where none is used', async () => {
  expect(await looked({ listen: '0.0.0.0:8443' })).toEqual([
    'authority of the site skipped',
    'page and LAN API skipped',
  ]);
  expect(await looked({})).toEqual([' skipped']);
});
