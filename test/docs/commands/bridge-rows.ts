import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { askSocket } from '../../harness/control.ts';
import { code } from '../../harness/site.ts';
import { type Bridge, passphrase } from './bridge.ts';
import type { Row } from './line.ts';

/** Eight digits each, so that none stands in a number by chance. */
export const codes = { ada: '29041738', adaDuress: '65092814', ada2: '83015924', otto: '71940826', owner: '90417253' };

/** What changes nothing, or what nobody after it needs. */
export const looking: readonly Row<Bridge>[] = [
  { command: 'npm run siteward -- status', says: /arming: site disarmed, cloud disarmed, in step; security type 3/ },
  { command: 'siteward status', says: /Part 1/ },
  { command: 'npm run -s siteward -- status --json | jq .partitions', says: /"name": "Part 1"/ },
  { command: 'siteward doctor', code: 2, says: /✓ configuration/ },
  { command: 'siteward doctor token site', says: /All is well/ },
  { command: 'siteward events --limit 50', says: /panic/ },
  { command: 'siteward log --level warn', says: / warn {2}cameras: / },
  { command: 'siteward log level debug --for 30m --part cameras', says: /cameras +debug/ },
  { command: 'siteward log --follow --part cameras', serves: 'SIGTERM', says: /cameras: / },
  { command: 'siteward support-bundle --contents', says: /^metrics +the metrics as text$/m },
  { command: 'siteward support-bundle', says: /^siteward-support-\S+\.json, /m },
  { command: 'siteward schedule --limit 3', says: /times of Europe\/Berlin\n.* arm +night/ },
  {
    command: 'siteward schedule postpone night --by 30m',
    typed: () => [['code', code]],
    says: /night arms at .*; 1 more for that day/,
  },
  {
    command: 'curl -s --unix-socket /run/siteward/control.sock http://localhost/metrics',
    says: /siteward_outbox_parked/,
  },
  { command: 'siteward media list --camera yard', says: /snapshot/ },
  { command: 'siteward media show 4711', before: alarm, says: /snapshot {2}yard .* [0-9a-f]{64}/ },
  { command: 'siteward media export 4711 --to evidence', before: alarm, says: /1 .*evidence/ },
  { command: 'siteward device plan', says: /0 to create/ },
  { command: 'siteward device sync', says: /nothing was to be told/ },
  { command: 'siteward device list', says: /old-gate/ },
  {
    command: 'siteward device set old-gate --name "Gate, until March" --dry-run',
    says: /Old gate -> +Gate, until March/,
  },
  {
    command: 'siteward device delete old-gate',
    typed: () => [['Type Proof to go on:', 'Proof']],
    says: /1 device deleted/,
  },
  { command: 'siteward nvr list', says: /rec/ },
  { command: 'siteward nvr sync', says: /nothing was to be told/ },
  { command: 'siteward cloud registration --out registration.txt', says: /registration\.txt/ },
  {
    command:
      'npm run siteward -- api list-sites 1 --filter name,shop,regex --base-url http://127.0.0.1:8080 --token-env TOKEN',
    async before({ site }) {
      const body = { kind: 'partner', dealers: [17] };
      const { token } = (await site.cloud.control('tokens', { method: 'POST', body })) as { token: string };
      return {
        'npm run siteward -- api list-sites 1 ': `TOKEN=${token} npm run siteward -- api list-sites 17 `,
        'name,shop': 'name,Proof',
      };
    },
    says: /Proof/,
  },
  {
    command:
      'npm run siteward -- api create-devices 1 2 --set external_device_id=cam-1 --set device_type=camera --set zone_number=1',
    before: async () => ({ 'create-devices 1 2': 'create-devices 17 4711', 'zone_number=1': 'zone_number=55' }),
    says: /cam-1/,
  },
];

async function alarm({ alarm }: Bridge) {
  return { 4711: String(alarm) };
}

export const people: readonly Row<Bridge>[] = [
  { command: 'siteward claim-code', says: /[A-Z0-9]{4}-[A-Z0-9]{4}/ },
  {
    command: 'siteward user add anna --name "Anna Meier" --role owner --duress',
    before: ada,
    typed: () => [
      ['code of ada', codes.ada],
      ['once more', codes.ada],
      ['duress code of ada', codes.adaDuress],
      ['once more', codes.adaDuress],
      ['code of an owner', ''],
    ],
    says: /ada/,
  },
  {
    command: 'siteward user code anna',
    before: ada,
    typed: () => [
      ['code of ada', codes.ada2],
      ['once more', codes.ada2],
      ['code of an owner', codes.ada],
    ],
    says: /ada/,
  },
  { command: 'siteward user list', says: /ada .*owner/ },
  {
    command: 'siteward user add otto --name "Otto Berger" --role auditor',
    typed: () => [
      ['code of otto', codes.otto],
      ['once more', codes.otto],
      ['code of an owner', codes.ada2],
    ],
    says: /otto/,
  },
  { command: 'siteward audit show --auditor', typed: () => [['code of an auditor', codes.otto]], says: /otto/ },
  {
    command: 'siteward audit show --since 2026-12-01 --kind refusal',
    async before({ site }) {
      const today = new Date().toISOString().slice(0, 10);
      await site.lan.ask('disarm', { partition: 'p2', code: '93820571' });
      return { '2026-12-01': today };
    },
    says: /BAD_CODE/,
  },
  { command: 'siteward audit verify', says: /whole/ },
  {
    command: 'siteward audit export /media/stick/audit.jsonl',
    typed: () => [['code of an auditor', codes.otto]],
    says: /audit\.jsonl/,
  },
  {
    command: 'siteward user remove anna',
    async before({ site }) {
      const body = { id: 'olga', name: 'Olga', role: 'owner', code: codes.owner, consent: codes.ada2 };
      expect(await askSocket(site.socket, 'POST', '/api/v1/users', body)).toMatchObject({ status: 200 });
      return await ada();
    },
    says: /user ada removed/,
  },
  {
    command: 'siteward reset-access',
    typed: () => [['?', 'yes']],
    says: /[A-Z0-9]{4}-[A-Z0-9]{4}/,
  },
];

/** The stage has an anna of its own, in the configuration. */
async function ada() {
  return { 'user add anna': 'user add ada', 'user code anna': 'user code ada', 'user remove anna': 'user remove ada' };
}

export const outbox: readonly Row<Bridge>[] = [
  { command: 'siteward outbox show', says: /^alarm +0 +- +2 +0$/m },
  { command: 'siteward outbox parked', says: /422 {2}2 tries {2}refused as invalid: camera_id unknown/ },
  { command: 'siteward outbox parked 4711', before: refused(0), says: /does not take this event/ },
  { command: 'siteward outbox export --all --out parked.jsonl', says: /2 .*parked\.jsonl/ },
  { command: 'siteward outbox retry 4711', before: refused(0), says: /1/ },
  { command: 'siteward outbox drop 4711 --yes', before: refused(1), says: /1/ },
  { command: 'siteward outbox gaps', says: /technician/ },
  {
    command: 'siteward outbox events --lane alarm',
    async before({ site, sensors }) {
      await site.line.cut();
      sensors.send('open button');
      await site.lan.shows('partition/p1/state', 'triggered');
      return undefined;
    },
    says: /panic/,
    async after({ site, sensors }) {
      await site.line.restore();
      sensors.send('close button');
      await site.lan.ask('disarm', { partition: 'p1', code });
    },
  },
];

/** The number of an event that was refused. */
function refused(index: number) {
  return async ({ parked }: Bridge) => ({ 4711: parked[index] ?? '' });
}

export const inputs: readonly Row<Bridge>[] = [
  { command: 'siteward replay --recorded --partition p1', says: /0 otherwise than recorded/ },
  { command: 'siteward inputs export /tmp/inputs.jsonl', says: /\d+ lines in / },
  { command: 'siteward replay /tmp/inputs.jsonl --differences', says: /0 otherwise than recorded/ },
  {
    command: 'siteward verification add 0a0a0a0a-1111-4222-8333-444444444444 --contact 7 --in 5m',
    says: /to be answered until/,
  },
  { command: 'siteward verification list --open', says: /OPEN .*asks contact 7/ },
  {
    command: 'siteward verification answer 0a0a0a0a-1111-4222-8333-444444444444 disregard',
    typed: () => [['code', code]],
    says: /disregard/,
  },
];

const words = [
  ['passphrase', passphrase],
  ['once more', passphrase],
] as const;

export const backups: readonly Row<Bridge>[] = [
  { command: 'siteward backup /media/stick/shop.age', typed: () => words, says: /shop\.age/ },
  { command: 'siteward backup --show /media/stick/shop.age', typed: () => [['passphrase', passphrase]], says: /proof/ },
  {
    command: 'siteward backup --passphrase-file /root/backup-passphrase /srv/backups/shop.age --force',
    says: /shop\.age/,
  },
  {
    command: 'siteward backup --show shop.age',
    before: async ({ site }) => ({ 'shop.age': join(site.folder, 'backups/shop.age') }),
    typed: () => [['passphrase', passphrase]],
    says: /proof/,
  },
  {
    command: 'age -d shop.age | tar xz',
    // The folder it is unpacked in is not that of the site.
    async before({ place }) {
      mkdirSync(join(place.folder, 'unpacked'));
      return { 'age -d shop.age': `cd unpacked && age -d ${join(place.folder, 'backups/shop.age')}` };
    },
    typed: () => [['passphrase', passphrase]],
    says: /Enter passphrase/,
    after({ place }) {
      const manifest = JSON.parse(readFileSync(join(place.folder, 'unpacked/manifest.json'), 'utf8'));
      expect(JSON.stringify(manifest)).toContain('sw-proof');
      expect(existsSync(join(place.folder, 'unpacked/state/site.db'))).toBe(true);
      expect(existsSync(join(place.folder, 'unpacked/files', place.config))).toBe(true);
    },
  },
];
