import { describe, expect, test } from 'vitest';
import { panelProblems } from '#box/folders.ts';
import { checkConfig, formatProblem } from '#config/index.ts';
import { checkText } from '#config/load.ts';
import { secretSources } from '#lib/secret-ref.ts';
import { environment, minimal, problems, put, settings } from './fixture.ts';

const listening = 'dc09: { listen: "0.0.0.0:5010" }\n';
const caller = '{ id: m, profile: sia-dc09, dc09: { account: "1234" } }';

/** Also what only the whole shows, as `siteward check` says it. */
function allProblems(text: string): string[] {
  const file = put(text);
  const found = checkConfig(file, { ...environment, alsoCheck: panelProblems(file) }).problems;
  return found.map((one) => formatProblem(one).slice(file.length + 1));
}

describe('a panel that calls by SIA DC-09', () => {
  test('and its receiver are right together, with what is left out filled in', () => {
    expect(allProblems(`${minimal}${listening}panels: [ ${caller} ]\n`)).toEqual([]);
    const { dc09, panels } = settings(`${minimal}${listening}panels: [ ${caller} ]\n`);
    expect(dc09).toEqual({ listen: '0.0.0.0:5010', transports: ['tcp', 'udp'] });
    expect(panels[0]?.dc09).toEqual({
      account: '1234',
      supervised: 25 * 3_600_000,
      clock: 'utc',
      part_arming: 'closing',
    });
  });

  test('makes nothing listen where there is none', () => {
    expect(settings(minimal).dc09).toBeUndefined();
  });

  test.each<[string, string, string]>([
    [
      'without a receiver',
      `panels: [ ${caller} ]\n`,
      '4:29 panels[0].profile: nothing listens for this panel, expected a section dc09: { listen: 0.0.0.0:5010 }',
    ],
    [
      'a receiver without a panel',
      listening,
      '4:1 dc09: has no effect here, expected a panel with profile: sia-dc09, or leave this out',
    ],
    [
      'without an account',
      `${listening}panels: [ { id: m, profile: sia-dc09 } ]\n`,
      '5:11 panels[0].dc09: is missing, expected dc09: { account: "1234" }',
    ],
    [
      'with an account at a bridge',
      `panels: [ { id: m, profile: pai, dc09: { account: "1" } } ]\n`,
      '4:34 panels[0].dc09: has no effect here, expected a panel with profile: sia-dc09, or leave this out',
    ],
    [
      'with the account of another, whatever the case',
      `${listening}panels: [ { id: m, profile: sia-dc09, dc09: { account: ab } }, { id: n, profile: sia-dc09, dc09: { account: AB } } ]\n`,
      '5:109 panels[1].dc09.account: another panel has this account, expected each account once',
    ],
    [
      'with a time only a bridge has',
      `${listening}panels: [ { id: m, profile: sia-dc09, stale_after: 1h, dc09: { account: "1" } } ]\n`,
      '5:39 panels[0].stale_after: has no effect with profile sia-dc09; leave it out',
    ],
    [
      'from an address that is none',
      `${listening}panels: [ { id: m, profile: sia-dc09, dc09: { account: "1", from: [10.0.0.0/33] } } ]\n`,
      '5:68 panels[0].dc09.from[0]: must be an IP address, or a network such as 192.168.1.0/24',
    ],
  ])('%s is told so at its place', (_, text, problem) => {
    expect(problems(minimal + text)).toEqual([problem]);
  });

  test('with a key that is none is told so, and the key is not shown', () => {
    const text = `${minimal}${listening}panels: [ { id: m, profile: sia-dc09, dc09: { account: "1", key: { env: CAM } } } ]\n`;
    const found = allProblems(text);
    expect(found).toEqual([
      '5:66 panels[0].dc09.key: is no AES key: it must be 16, 24 or 32 characters, or 32, 48 or 64 hex digits',
    ]);
  });

  test('with two zones of one number is told so', () => {
    const zones = 'zones: { "1": { type: fire, key: "7" }, "2": { type: perimeter, key: "07" } }';
    const text = `${minimal}${listening}panels: [ { id: m, profile: sia-dc09, ${zones}, dc09: { account: "1" } } ]\n`;
    expect(allProblems(text)).toHaveLength(1);
    expect(allProblems(text)[0]).toContain('"7" is already the key of zone 1');
  });
});

describe('a panel without a key', () => {
  const told = (panel: string) =>
    checkText('x.yaml', `${minimal}${listening}panels: [ ${panel} ]\n`, {
      sources: secretSources({ KEY: '0123456789abcdef' }),
    });

  test('is named in a warning, and one with a key is not', () => {
    expect(told(caller).warnings).toEqual([
      expect.stringContaining('panel m: without dc09.key and dc09.from anybody on the network'),
    ]);
    const near = told(caller.replace('"1234"', '"1234", from: [127.0.0.1]'));
    expect(near.warnings).toEqual([expect.stringContaining('without dc09.key whoever takes an address of dc09.from')]);
    const keyed = told(caller.replace('"1234"', '"1234", key: { env: KEY }'));
    expect([keyed.problems, keyed.warnings]).toEqual([[], []]);
  });
});
