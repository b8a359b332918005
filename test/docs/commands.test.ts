import { describe, expect, test } from 'vitest';
import { commissioning } from './commands/box.ts';
import * as devices from './commands/bridge-devices.ts';
import * as rows from './commands/bridge-rows.ts';
import { accounts } from './commands/broker.ts';
import { bench, fromSources } from './commands/checkout.ts';
import { commandsOf, hasOption, verbOf } from './commands/line.ts';
import { commands, pages, read } from './markdown.ts';

/** A command that only a whole system can do, or that takes long, and the tests that run it: file, and what it must hold. */
interface Elsewhere {
  readonly command: string;
  readonly by: readonly (readonly [file: string, ...holds: string[]])[];
}

const installs = ['test/system/box.ts', "'dpkg', '-i', `/packages/siteward_"] as const;
const ci = ['.ci/run', 'npm ci && npm test'] as const;

const elsewhere: readonly Elsewhere[] = [
  {
    command: 'npm ci && npm run demo',
    by: [ci, ['test/system-input/demo.test.ts', 'tells the whole story, verifies every step and exits with 0']],
  },
  { command: 'npm ci && npm test', by: [ci] },
  { command: 'npm ci', by: [ci] },
  { command: 'npm run package', by: [['test/system/build.ts', 'tools/package/main.ts']] },
  {
    command: 'npm run conformance',
    by: [
      ['test/conformance/command.test.ts', "'tools', 'conformance.ts'"],
      ['test/run.ts', 'runVitest'],
    ],
  },
  {
    command: `NODE_EXTRA_CA_CERTS=/var/lib/siteward/tls/ca.crt BRIDGE_KEY=sw_... npm run conformance -- --only L \\
  --base-url https://192.0.2.10:8443 --api-key-env BRIDGE_KEY --no-control --allow-actions \\
  --site 4711 --account-reference 0815 --device yard --partition p1`,
    by: [
      ['test/cli/cloud-paths-conformance.test.ts', "'conformance.ts'", '11 numbers, 0 failed', 'NODE_EXTRA_CA_CERTS'],
    ],
  },
  {
    command: 'npm run site -- --minutes 2 --seed 7',
    by: [
      ['package.json', '"site": "node test/site-run/main.ts"'],
      ['test/site-run/site-run.test.ts', "'main.ts'", "'--minutes'", "'--seed'"],
    ],
  },
  {
    command: 'npm run site -- --soak --minutes 120',
    by: [['test/site-run/site-run.test.ts', "'--soak'", 'looks at the process, its metrics and its files meanwhile']],
  },
  {
    command: 'npm run site -- --soak --slow --minutes 50',
    by: [
      ['test/site-run/site-run.test.ts', "'--soak', '--slow'"],
      ['test/site-run/slow-box.test.ts', 'has a quarter of a core and a disk that takes 20 ms more'],
    ],
  },
  // It asks every network of the machine: once in the tests is enough.
  {
    command: 'siteward camera discover',
    by: [['test/cli/camera-discover.test.ts', 'shows what answers on an interface', "'discover'"]],
  },
  {
    command: 'apt-get install ./siteward_0.1.0_amd64.deb',
    by: [['test/system/broker.test.ts', 'apt-get --quiet --yes', 'has a broker that works at once']],
  },
  {
    command: 'apt-get install ./siteward_0.2.0_amd64.deb',
    by: [installs, ['test/system/upgrade.test.ts', 'keeps configuration, arming and what waits']],
  },
  {
    command: 'dpkg -i siteward_0.1.0_amd64.deb',
    by: [installs, ['test/system/upgrade.test.ts', 'back to the older version needs only its package']],
  },
  {
    command: '/usr/lib/siteward/bin/use-backup 0.1.0',
    by: [['test/system/upgrade.test.ts', "'/usr/lib/siteward/bin/use-backup', versions.old"]],
  },
  {
    command: 'dpkg --remove siteward',
    by: [['test/system/install.test.ts', "'dpkg', '--remove', 'siteward'", 'remove keeps configuration and data']],
  },
  {
    command: 'dpkg --purge siteward',
    by: [['test/system/install.test.ts', 'dpkg --purge siteward', 'purge leaves nothing']],
  },
  {
    command: 'systemctl reload siteward',
    by: [
      [
        'test/system/service.test.ts',
        'systemctl reload siteward',
        'a configuration with errors changes nothing at a reload',
      ],
    ],
  },
  { command: 'journalctl -u siteward -p warning', by: [['test/system/box.ts', 'journalctl -u siteward']] },
];

const run = [
  ...[rows.looking, rows.people, rows.outbox, rows.inputs, rows.backups].flat(),
  ...[devices.cameras, devices.sound, devices.network, devices.mqtt, devices.arming, devices.whole].flat(),
  ...[commissioning, accounts, bench, fromSources].flat(),
];
const claimed = [...run.flatMap((row) => commandsOf(row)), ...elsewhere.map(({ command }) => command)];
const found = commands();

describe('the commands of README and docs', () => {
  test.each(found)('"$command" of $pages is run, in one place', ({ command }) => {
    expect(claimed.filter((one) => one === command)).toEqual([command]);
  });

  test('nothing else is run in their name', () => {
    expect(claimed.filter((command) => !found.some((one) => one.command === command))).toEqual([]);
  });

  test.each(elsewhere)('"$command" is run by another test', ({ by }) => {
    for (const [file, ...holds] of by) for (const text of holds) expect(read(file), file).toContain(text);
  });
});

/** Commands within the text, without what a person fills in. The log line `siteward runs` is none. */
const named = pages().flatMap((page) =>
  [...read(page).matchAll(/`(?:sudo )?(?:npm run )?siteward (?:-- )?([a-z][^`]*)`/g)]
    .map(([, text = '']) => ({ page, text }))
    .filter(({ text }) => text !== 'runs'),
);

test('verbs and options that the text of README and docs names are there', () => {
  expect(named.length).toBeGreaterThan(200);
  const unknown = named.filter(({ text }) => {
    const words = text.split(/\s+/);
    const found = verbOf(words);
    // What an operation of the interface takes is known when it is called.
    if (found === undefined || words[0] === 'api') return found === undefined;
    const options = found.rest.flatMap((word) => /^--[a-z-]+/.exec(word) ?? []);
    return options.some((name) => name !== '--help' && !hasOption(found.verb, name));
  });
  expect(unknown).toEqual([]);
});
