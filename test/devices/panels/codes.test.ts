import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { codeMeaning } from '#devices/panels/codes.ts';
import { createMapping, mapReading } from '#devices/panels/index.ts';
import { compilePreset, panel, readOne, samplesMissing } from './helpers.ts';

const given = panel({
  id: 'main',
  profile: 'ajax-sia2mqtt',
  zones: {
    F1: { type: 'fire', key: 'fire' },
    H1: { type: 'panic_silent', key: 'duress' },
    '4': { type: 'perimeter' },
  },
});
const source = { kind: 'panel', id: 'main' };

const signalsOf = (id: string, topic: string, payload: object, retain = false, options = given) => {
  const compiled = compilePreset(id);
  const mapping = createMapping(options, compiled.profile.identity);
  const mapped = readOne(compiled, topic, JSON.stringify(payload), retain).readings.map((one) =>
    mapReading(mapping, one),
  );
  return { signals: mapped.flatMap(({ signals }) => signals), hints: mapped.flatMap(({ hints }) => hints) };
};
const ajax = (code: string, retain = false, options = given) =>
  signalsOf('ajax-sia2mqtt', 'home/alarm/ajax/state', { state: 'unknown', code }, retain, options);
const cid = (code: string, retain = false) =>
  signalsOf('ad2iot', 'ad2iot/device-id/cid', { event_message: `!LRR:004,1,CID_${code},ff` }, retain);

describe('codes a panel reports', () => {
  it('for fire are an alarm of the fire zone, and its end', () => {
    // What was before ends first, since many panels tell no end of it; that end is nobody's report and has no code.
    const levels = (code: string) => [
      expect.not.objectContaining({ code: expect.anything() }),
      { kind: 'zone', zone: 'F1', alarm: true, code: { code, term: 'fire' } },
    ];
    expect(ajax('FA').signals[0]).toMatchObject({ kind: 'zone', zone: 'F1', alarm: false });
    expect(ajax('FA').signals).toMatchObject(levels('FA'));
    expect(ajax('FH').signals).toMatchObject([{ zone: 'F1', alarm: false }]);
    expect(cid('1110').signals).toMatchObject(levels('110'));
    expect(cid('3110').signals).toMatchObject([{ zone: 'F1', alarm: false }]);
  });

  it('for mains and batteries are troubles', () => {
    expect(ajax('AT').signals).toMatchObject([
      { kind: 'trouble', trouble: 'ac_loss', active: true, code: { code: 'AT', term: 'ac_loss' } },
    ]);
    expect(cid('3302').signals).toMatchObject([{ trouble: 'battery_low', active: false }]);
  });

  it('that are retained, of arming, or still present are nothing', () => {
    for (const { signals, hints } of [
      ajax('FA', true),
      cid('1110', true),
      cid('3401'),
      cid('6110'),
      ajax('CL'),
      ajax('BA'),
    ]) {
      expect([signals, hints]).toEqual([[], []]);
    }
  });

  it('for a danger nobody has a zone for are an alarm of the panel and a hint, and for hold-up a silent one and none', () => {
    const alarm = { kind: 'alarm', source, partition: 'p1' };
    expect(ajax('MA').signals).toEqual([{ ...alarm, alarm: 'medical', code: { code: 'MA', term: 'medical' } }]);
    expect(ajax('MA').hints).toEqual([{ kind: 'unknown_key', what: 'zone', key: 'medical' }]);
    expect(cid('1162').signals).toEqual([{ ...alarm, alarm: 'co', code: { code: '162', term: 'carbon_monoxide' } }]);
    const without = panel({ id: 'main', profile: 'ajax-sia2mqtt' });
    expect(ajax('HA', false, without)).toEqual({
      signals: [{ ...alarm, alarm: 'panic_silent', code: { code: 'HA', term: 'hold_up' } }],
      hints: [],
    });
    expect(ajax('HA').signals).toMatchObject([
      { zone: 'H1', alarm: false },
      { zone: 'H1', alarm: true },
    ]);
  });

  it('with a zone are an alarm of that zone', () => {
    const mapping = createMapping(given, { partition: 'number', zone: 'number' });
    const report = { kind: 'report', replay: false, context: false, key: '4', contactId: '1130' } as const;
    expect(mapReading(mapping, report).signals).toMatchObject([{ zone: '4', alarm: true }]);
  });

  it('for a danger with the number of a burglary zone are an alarm of the zone that stands for it', () => {
    const mapping = createMapping(given, { partition: 'number', zone: 'number' });
    const report = { kind: 'report', replay: false, context: false, key: '4', contactId: '1115' } as const;
    expect(mapReading(mapping, report).signals).toMatchObject([{ zone: 'F1' }, { zone: 'F1', alarm: true }]);
  });
});

const table = fileURLToPath(new URL('../../../../shared/data/contactid_sia.csv', import.meta.url));
const why = samplesMissing ? ' (skipped: ../shared/data is not there)' : '';
/** Where siteward's word is another one than the word of the table. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^fire_(alarm|smoke|combustion|waterflow|heat|pull|duct|flame)/, 'fire'],
  [/^panic_(audible|audible_or_generic)$/, 'panic'],
  [/^(duress|panic_silent)/, 'duress'],
  [/^(medical|emergency)_alarm$/, 'medical'],
  [/^(gas|low_bottled_gas)$/, 'gas'],
  [/^water_leak$/, 'water'],
  [/^carbon_monoxide$/, 'co'],
  [/^rf_jam$/, 'rf_jam'],
  [/^ac_loss/, 'ac_loss'],
];

describe.skipIf(samplesMissing)(`the table of Contact ID codes${why}`, () => {
  it('agrees with what siteward takes them for', () => {
    const rows = readFileSync(table, 'utf8').trim().split('\n').slice(1);
    let compared = 0;
    for (const row of rows) {
      const [code = '', kind = ''] = row.split(',');
      const word = words.find(([pattern]) => pattern.test(kind))?.[1];
      if (word === undefined) continue;
      const meaning = codeMeaning({ contactId: `1${code}` });
      expect(
        meaning?.is === 'alarm' ? meaning.role : meaning?.is === 'trouble' ? meaning.trouble : undefined,
        row,
      ).toBe(word);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(20);
  });
});
