import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { termOf } from '#devices/panels/code-terms.ts';
import { reportMeaning } from '#devices/panels/dc09-codes.ts';
import { ReportMapping } from '#devices/panels/dc09-mapping.ts';
import { createMapping } from '#devices/panels/index.ts';
import { parseReports } from '#lib/dc09/index.ts';
import { adoptPlan, readState, type SiteState, visibleState, writeState } from '#site/core/index.ts';
import type { Signal, SitePlan, ZoneType } from '#site/model/index.ts';
import { panelHouse, partition, stamp, world, zone } from '../../site/core/world.ts';
import { panel } from './helpers.ts';

/** What a panel reports, through the mapping of the receiver and the rules of the site, to the events. */
interface Given {
  readonly zones?: Record<string, { type: string; key?: string | string[] }>;
  readonly partitions?: Record<string, string>;
  /** Zones of every partition. */
  readonly common?: readonly string[];
  readonly supervision?: SitePlan['supervision'];
}
const roleZones = { '10': { type: 'fire', key: ['fire', '10'] }, '12': { type: 'panic_silent', key: 'duress' } };

function reporting({ zones = roleZones, partitions = { p1: '1' }, common = [], supervision }: Given = {}) {
  const options = panel({
    ...{ id: 'main', profile: 'sia-dc09', partitions },
    zones: { '1': { type: 'entry_exit_1' }, '2': { type: 'perimeter' }, '13': { type: '24h_burglary' }, ...zones },
  });
  const mapping = createMapping(options, { zone: 'number', partition: 'number' });
  const partitionsOf = (number: string) => (common.includes(number) ? Object.keys(partitions) : ['p1']);
  const fresh = () => new ReportMapping({ mapping, partArming: 'closing', partitionsOf });
  const own = (id: string) => partition(id, { authority: 'panel', panel: 'main' });
  const house = panelHouse({ partitions: Object.keys(partitions).map(own) });
  const more = Object.entries(zones).map(([number, { type }]) => zone(number, type as ZoneType));
  const all = [...house.zones.filter(({ number }) => !(number in zones)), ...more];
  const site = world({
    ...house,
    ...(supervision && { supervision }),
    zones: all.map((one) => ({ ...one, partitions: partitionsOf(one.number) })),
  });
  const link: Signal = { kind: 'link', source: mapping.panel, layer: 'device', up: true };
  site.signal(link);
  let reports = fresh();
  let frames = 0;
  return {
    site,
    /** The events of one frame, in SIA or Contact ID. */
    say(data: string, ageMs?: number, sent: { frame?: string; sentAt?: number } = {}) {
      frames += 1;
      const id = /^\d/.test(data) ? 'ADM-CID' : 'SIA-DCS';
      const mapped = reports.read(parseReports(id, data) ?? [], { frame: `f${frames}`, ageMs, ...sent });
      const events = mapped.signals.flatMap((signal) => site.events(site.signal(signal)));
      mapped.kept();
      return {
        ...mapped,
        events,
        told: events
          .filter(({ class: about }) => about === 'alarm' || about === 'trouble')
          .map(({ kind, status, zone, partition }) => `${kind} ${status} ${zone ?? partition ?? ''}`),
      };
    },
    restart() {
      const stored = readState(writeState(site.state)) as SiteState;
      site.state = adoptPlan(site.plan, stored, stamp(site.ms));
      site.send({ kind: 'started', sameBoot: true, storeLost: false });
      site.signal(link);
      reports = fresh();
    },
  };
}

describe('a danger reported with the number of another zone', () => {
  it.each([
    ['Nri1/FA001', 'fire active 10'],
    ['Nri1/FA002', 'fire active 10'],
    ['1110 01 002', 'fire active 10'],
    ['1115 01 001', 'fire active 10'],
    ['Nri1/SA002', 'fire active 10'],
    // No zone stands for these: an alarm of the partition, with the code that was reported.
    ['Nri1/MA001', 'medical active p1'],
    ['Nri1/GA002', 'gas active p1'],
    ['Nri1/WA010', 'water active p1'],
    ['Nri1/PA001', 'panic active p1'],
    ['1100 01 001', 'medical active p1'],
    ['1102 01 001', 'medical active p1'],
    ['1162 01 002', 'co active p1'],
    ['1151 01 010', 'gas active p1'],
  ])('%s is the alarm, and a hint', (data, told) => {
    for (const arming of ['Nri1/OP7', 'Nri1/CL7']) {
      const rig = reporting();
      rig.say(arming);
      const said = rig.say(data);
      expect(said.told).toEqual([told]);
      expect(said.hints[0]).toMatchObject({ kind: 'type_differs' });
      expect(said.isShown).toBe(true);
      // Told again in a new frame it is another one.
      expect(rig.say(data).told).toContain(told);
    }
  });

  it('carries its own code to the station', () => {
    const { say } = reporting();
    expect(say('1101 01 001').events).toMatchObject([
      { kind: 'medical', contactId: '101', sia: 'MA', signalToStation: true, toCloud: true, source: 'panel:main' },
    ]);
    expect(say('Nri1/QA1').events).toMatchObject([{ kind: 'medical', contactId: '100', sia: 'QA' }]);
  });
});

describe('one zone for several detectors', () => {
  it('is in alarm until the last of them is calm', () => {
    const rig = reporting();
    rig.say('Nri1/FA050');
    expect(rig.say('Nri1/FA051').told).toContain('fire active 10');
    expect(rig.say('Nri1/FH050').told).toEqual([]);
    expect(rig.say('Nri1/FH051').told).toEqual(['fire restored 10']);
    rig.say('Nri1/FA050');
    rig.restart();
    expect(rig.say('Nri1/FH050').told).toEqual(['fire restored 10']);
  });
});

describe('an alarm whose kind the zone decides', () => {
  it.each(['Nri1/UA002', 'Nri1/ZA002', 'Nri1/UX002', '1150 01 002', '1153 01 002', '1161 01 002', '1199 01 002'])(
    '%s is an alarm of its zone whatever the arming, and ends with the next opening',
    (data) => {
      const rig = reporting();
      rig.say('Nri1/OP7');
      for (const arming of ['Nri1/OP7', 'Nri1/CL7', 'Nri1/OP7']) {
        rig.say(arming);
        expect(rig.say(data).told).toEqual(['burglary_perimeter active 2']);
      }
      rig.say('Nri1/OP7');
      expect(rig.site.state.zones['2']?.alarm).toBe(false);
    },
  );

  it('of an unknown zone is one of the partition', () => {
    expect(reporting().say('Nri1/ZA077').told).toEqual(['technical active p1']);
    expect(reporting().say('1158 01 077').events).toMatchObject([{ kind: 'technical', contactId: '158' }]);
  });

  it('146 is a burglary, told each time', () => {
    const rig = reporting();
    for (let n = 0; n < 2; n += 1) {
      rig.say('Nri1/CL7');
      expect(rig.say('1146 01 002').told).toEqual(['burglary_perimeter active 2']);
      rig.say('Nri1/OP7');
    }
  });
});

describe('an opening or closing out of the memory of a panel', () => {
  const minutes = (count: number) => count * 60_000;
  const armings = (said: { events: readonly { class: string; kind: string; late?: boolean }[] }) =>
    said.events.filter(({ class: about }) => about === 'arming').map(({ kind, late }) => `${kind} ${late ?? false}`);

  it('that happened before what was heard last is history, and changes nothing', () => {
    const rig = reporting();
    rig.say('Nri1/CL7');
    for (const data of ['Nri1/OP7', 'Ori1/OP7', '1401 01 007']) {
      expect(armings(rig.say(data, minutes(60)))).toEqual(['disarmed true']);
      expect(rig.site.word()).toBe('armed_away');
    }
    rig.restart();
    expect(armings(rig.say('Nri1/OP7', minutes(60)))).toEqual(['disarmed true']);
    expect(rig.site.word()).toBe('armed_away');
  });

  it('counts in its order, also when all of it comes at once', () => {
    const rig = reporting();
    rig.say('Nri1/OP7');
    rig.site.ms += minutes(120);
    rig.say('Nri1/CL7', minutes(60));
    expect(rig.site.word()).toBe('armed_away');
    rig.say('Nri1/OP7', minutes(50));
    expect(rig.site.word()).toBe('disarmed');
    rig.say('Nri1/CL7', minutes(55));
    expect(rig.site.word()).toBe('disarmed');
  });

  it('from before an alarm that was sent first takes nothing of it back', () => {
    const rig = reporting();
    const isIn = () => [rig.site.word(), rig.site.state.zones['2']?.alarm];
    rig.say('Nri1/CL7');
    rig.site.ms += minutes(120);
    expect(rig.say('Nri1/BA002', minutes(10)).told).toEqual(['burglary_perimeter active 2']);
    for (const data of ['Nri1/OP7', 'Ori1/OP7']) {
      expect(rig.say(data, minutes(60)).told).toEqual([]);
      expect(isIn()).toEqual(['triggered', true]);
    }
    rig.restart();
    rig.say('Nri1/CL7', minutes(55));
    expect(rig.say('Ori1/OP7').told).toEqual([]);
    expect(isIn()).toEqual(['triggered', true]);
    // The next one does.
    expect(rig.say('Nri1/OP7', minutes(5)).told).toContain('burglary_perimeter cancelled 2');
    expect(isIn()).toEqual(['disarmed', false]);
  });

  it('from before an alarm takes nothing back where the panel has named no partition', () => {
    const rig = reporting({ partitions: { p1: '1', p2: '2' } });
    rig.say('Nri1/CL7');
    rig.site.ms += minutes(120);
    rig.say('1130 00 077', minutes(10));
    expect(rig.site.word()).toBe('triggered');
    expect(rig.say('Nri1/OP7', minutes(60)).told).toEqual([]);
    expect(rig.site.word()).toBe('triggered');
  });

  it('does not come back with an alarm from before it, which is told all the same', () => {
    const rig = reporting({ partitions: { p1: '1', p2: '2' } });
    rig.say('Nri1/CL7');
    rig.site.ms += minutes(120);
    rig.say('Nri1/OP7');
    const told = (data: string) => rig.say(data, minutes(60)).events;
    expect(told('Nri1/BA002')).toMatchObject([
      { kind: 'burglary_perimeter', status: 'active', zone: '2', late: true, signalToStation: true, sia: 'BA' },
    ]);
    expect(told('Nri1/BA099')).toMatchObject([{ kind: 'burglary', partition: 'p1', late: true }]);
    expect(rig.site.state.partitions.p1).toMatchObject({ state: 'disarmed', memory: ['2'] });
    expect(rig.site.state.partitions.p1).not.toHaveProperty('alarm');
    expect(told('Nri1/BH002')).toMatchObject([{ status: 'restored', zone: '2' }]);
    expect(told('Nri1/BA013').map(({ kind }) => kind)).toEqual(['burglary_24h']);
    // What happened is history also where the partition is armed by now, and each is told once.
    rig.say('Nri1/CL7');
    expect(told('Nri1/BA002')).toMatchObject([{ kind: 'burglary_perimeter', zone: '2', late: true }]);
    expect(told('1130 00 099')).toMatchObject([{ kind: 'burglary', late: true }]);
    expect(rig.site.word()).toBe('armed_away');
    // One that is newer than the closing is an alarm of now.
    rig.site.ms += minutes(30);
    expect(rig.say('Nri1/BA002', minutes(5)).told).toContain('burglary_perimeter active 2');
    expect(rig.site.word()).toBe('triggered');
  });

  it('leaves what is not certain so, where it says nothing of now', () => {
    const rig = reporting();
    const isStale = () => rig.site.state.partitions.p1?.stale;
    const opening = { frame: 'f', sentAt: 1 };
    rig.say('Nri1/OP7', undefined, opening);
    rig.say('Ori1/OP7');
    expect(isStale()).toBe(false);
    rig.restart();
    rig.say('Nri1/OP7', undefined, opening);
    rig.say('Nri1/OP7', minutes(60));
    rig.say('Ori1/OP7');
    expect(isStale()).toBe(true);
    // A zone's alarm goes up meanwhile (safety 2).
    expect(rig.say('Nri1/BA002').events).toMatchObject([{ evidence: [{}, { type: 'arming_not_known' }] }]);
    rig.restart();
    rig.say('Nri1/CL7');
    expect(isStale()).toBe(false);
  });

  it('without a time disarms nothing', () => {
    const rig = reporting();
    rig.say('Nri1/CL7');
    expect(armings(rig.say('Ori1/OP7'))).toEqual(['disarmed true']);
    // And yet it may be newer than the closing.
    expect(rig.site.state.partitions.p1).toMatchObject({ state: 'armed_away', stale: true });
    rig.say('Nri1/OP7');
    expect(rig.site.word()).toBe('disarmed');
    rig.say('Ori1/CL7');
    expect(rig.site.word()).toBe('armed_away');
  });
});

describe('a panel that begins its numbers anew while siteward starts again', () => {
  const day = ['RR', 'CL7', 'BA002', 'FA009', 'FH009', 'OP7'];
  const send = (rig: ReturnType<typeof reporting>, at: number, data = day) =>
    data.flatMap((one, n) => rig.say(`Nri1/${one}`, undefined, { frame: `0000${n}`, sentAt: at + n * 1000 }).told);

  it('loses no fire, burglary or arming, and the last report that comes again is one', () => {
    const rig = reporting();
    const first = send(rig, 1_000_000);
    expect(first).toContain('fire active 10');
    rig.restart();
    // The answer to the last one was lost: it comes again, with the time of the sending.
    expect(rig.say('Nri1/OP7', undefined, { frame: '00005', sentAt: 1_020_000 }).events).toEqual([]);
    expect(send(rig, 1_060_000)).toEqual(first);
    expect(rig.site.word()).toBe('disarmed');
    // With its first time an earlier one is the same, however late it comes.
    rig.say('Nri1/CL7', undefined, { frame: '0009', sentAt: 1_070_000 });
    rig.restart();
    expect(rig.say('Nri1/OP7', undefined, { frame: '00005', sentAt: 1_065_000 }).events).toEqual([]);
    expect(rig.site.word()).toBe('armed_away');
  });
});

describe('a sabotage', () => {
  it.each(['Nri1/TA002', '1144 01 002', '1137 01 002'])('%s is told each time, as an alarm while armed', (data) => {
    const rig = reporting();
    rig.say('Nri1/OP7');
    expect(rig.say(data).told).toEqual(['tamper active 2']);
    rig.say('Nri1/CL7');
    expect(
      rig.say(data).events.map(({ class: about, kind, status, zone: of }) => `${about} ${kind} ${status} ${of}`),
    ).toEqual(['trouble tamper restored 2', 'alarm tamper active 2', 'trouble tamper active 2']);
  });
});

describe('a burglary', () => {
  it.each(['NBA099', 'Nri0/BA099', '1130 00 099'])(
    '%s that names nothing at all is an alarm of the panel, and of those partitions that are armed',
    (data) => {
      const rig = reporting({ partitions: { p1: '1', p2: '2' } });
      const states = () => ['p1', 'p2'].map((id) => rig.site.word(id));
      rig.say('Nri1/OP7');
      expect(rig.say(data).told).toEqual(['burglary active ']);
      expect(states()).toEqual(['disarmed', 'unknown']);
      rig.say('Nri1/CL7');
      const said = rig.say(data);
      expect(said.told).toEqual(['burglary active p1']);
      expect(said.events).toMatchObject([{ signalToStation: true, contactId: '130' }]);
      expect(said.hints).toHaveLength(2);
      expect(states()).toEqual(['triggered', 'unknown']);
      expect(rig.say(data).told).toEqual(['burglary active p1']);
      expect(rig.say('Nri1/OP7').told).toEqual(['burglary cancelled p1']);
      rig.say('Nri1/CL7^text^');
      rig.say('Nri2/CL7');
      expect(rig.say(data).told).toEqual(['burglary active ']);
      expect(states()).toEqual(['triggered', 'triggered']);
    },
  );

  it.each(['Nri5/BA099', '1130 05 099'])('%s of an area the site has not is in none of its partitions', (data) => {
    for (const partitions of [{ p1: '1', p2: '2' }, { p1: '1' }]) {
      const rig = reporting({ partitions });
      rig.say('Nri1/CL7');
      const said = rig.say(data);
      expect(said.told).toEqual(['burglary active ']);
      expect(said.events).toMatchObject([{ signalToStation: true, contactId: '130' }]);
      expect(said.hints).toHaveLength(2);
      expect(rig.site.word()).toBe('armed_away');
      expect(rig.say(data).told).toEqual(['burglary active ']);
      // So that nobody takes it back who opens another one.
      expect(rig.say('Nri1/OP7').told).toEqual([]);
    }
  });

  it('of a zone in several areas without a word of the area triggers those that are armed', () => {
    const rig = reporting({ partitions: { p1: '1', p2: '2' }, common: ['2'] });
    rig.say('Nri2/CL7');
    rig.say('Nri1/OP7');
    expect(rig.say('NBA002').told).toEqual(['burglary_perimeter active 2']);
    expect([rig.site.word('p1'), rig.site.word('p2')]).toEqual(['disarmed', 'triggered']);
  });

  it.each(['BA001', 'BA099', 'BA020'])('%s after the panel has armed itself again is another alarm', (next) => {
    const rig = reporting({ zones: { ...roleZones, '20': { type: 'no_alarm_response' } } });
    rig.say('Nri1/CL7');
    expect(rig.say('Nri1/BA002').told).toEqual(['burglary_perimeter active 2']);
    rig.say('Nri1/CL0');
    const told = rig.say(`Nri1/${next}`).told.join();
    expect(told).toMatch(/^burglary\S* active (1|p1)$/);
    expect(rig.site.word('p1')).toBe('triggered');
  });

  it('of a zone that is not configured is told each time, also while another runs', () => {
    const rig = reporting();
    rig.say('Nri1/CL7');
    for (const data of ['Nri1/BA098', 'Nri1/BA097', 'Nri1/BA097'])
      expect(rig.say(data).told).toEqual(['burglary active p1']);
  });

  it.each(['Nri1/BA099', 'Nri1/BA020', 'Nri1/BA021'])(
    '%s beside a fire is a burglary, and the opening takes back no fire',
    (data) => {
      const zones = { ...roleZones, '20': { type: 'no_alarm_response' }, '21': { type: 'key_switch_maintained' } };
      for (const arming of ['Nri1/OP7', 'Nri1/CL7']) {
        const rig = reporting({ zones });
        rig.say(arming);
        rig.say('Nri1/FA010');
        expect(rig.say(data).told).toEqual(['burglary active p1']);
        expect(rig.say('Nri1/OP7').told.filter((told) => told.startsWith('fire'))).toEqual([]);
        expect(rig.say(data).told).toEqual(['burglary active p1']);
      }
    },
  );

  it.each(['13', '2'])('of zone %s that was in alarm before a restart is another alarm', (zone) => {
    const rig = reporting();
    rig.say('Nri1/CL7');
    rig.say(`Nri1/BA0${zone.padStart(2, '0')}`);
    rig.restart();
    rig.say('Nri1/CL7');
    expect(rig.say(`Nri1/BA0${zone.padStart(2, '0')}`).told.some((event) => / active /.test(event))).toBe(true);
  });
});

describe('a hold-up (safety 4)', () => {
  it.each(['Nri1/HA001', '1121 01 001', '1129 01 001', 'Nri1/HT001', '1376 01 001'])(
    '%s is silent, with its zone and without one',
    (data) => {
      for (const zones of [roleZones, {}]) {
        const rig = reporting({ zones });
        rig.say('Nri1/OP7');
        const before = visibleState(rig.site.plan, rig.site.state);
        const said = rig.say(data);
        expect(said).toMatchObject({ isShown: false, hints: [] });
        expect(said.events).toMatchObject([{ kind: 'panic_silent', silent: true, signalToStation: true }]);
        expect(visibleState(rig.site.plan, rig.site.state)).toEqual(before);
        expect(rig.say(data).events.filter(({ status }) => status === 'active')).toHaveLength(1);
      }
    },
  );

  it('without a zone that is repeated over a restart is one', () => {
    const rig = reporting({ zones: {} });
    const [signal] = rig.say('Nri1/HA001').signals;
    rig.restart();
    if (signal !== undefined) expect(rig.site.events(rig.site.signal(signal))).toEqual([]);
  });
});

describe('the codes of the tables', () => {
  const rows = (name: string) => {
    try {
      const text = readFileSync(new URL(`../../../../shared/data/${name}`, import.meta.url), 'utf8');
      return text
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(','));
    } catch {
      return [];
    }
  };

  it.skipIf(rows('sia_codes.csv').length === 0)('that are alarms or troubles all have a meaning', () => {
    const without = [
      ...rows('contactid_sia.csv').map(([code, , about]) => ({
        report: { contactId: `1${code}`, area: '', number: '' },
        code,
        about,
      })),
      ...rows('sia_codes.csv').map(([sia = '', , about]) => ({ report: { sia }, code: sia, about })),
    ].filter(
      ({ report, about = '' }) =>
        /alarm|trouble|supervisory/.test(about) && reportMeaning(report, 'closing') === undefined,
    );
    expect(without.map(({ code }) => code)).toEqual([]);
  });

  it.each([
    ['Nri1/FT010', ['system active 10']],
    ['1373 01 002', ['system active 2']],
    ['1355 00 000', ['comm_fail active ']],
    ['1333 00 004', ['system active ']],
    ['1461 00 003', ['system active ', 'system restored ']],
  ])('%s is a trouble', (data, told) => {
    expect(reporting().say(data).told).toEqual(told);
  });

  it('that are alarms, troubles, arming or tests all have a term', () => {
    const codes = [...rows('contactid_sia.csv'), ...rows('sia_codes.csv')].flatMap(([code = '']) => {
      const report = /^\d/.test(code) ? { contactId: `1${code}`, area: '', number: '' } : { sia: code };
      const meaning = reportMeaning(report, 'opening')?.is;
      return meaning === undefined || meaning === 'nothing' || meaning === 'bypass' ? [] : [code];
    });
    expect(codes.filter((code) => termOf(code) === undefined)).toEqual([]);
  });

  it('each trouble is told as its own, with its code, number and term, and once with its end', () => {
    const rig = reporting();
    const say = (data: string) =>
      rig
        .say(data)
        .events.map(({ kind, status, contactId, sia, reported }) => [kind, status, contactId, sia, reported]);
    const reported = (code: string, term: string, number?: string) => ({ code, term, ...(number && { number }) });
    const phone = reported('351', 'phone_line_1');
    const radio = reported('353', 'radio_transmitter');
    expect(say('1351 00 000')).toEqual([['comm_fail', 'active', '351', 'YC', phone]]);
    expect(say('1353 00 000')).toEqual([['comm_fail', 'active', '353', 'YC', radio]]);
    expect(say('1351 00 000')).toEqual([]);
    for (const module of ['4', '5'])
      expect(say(`1333 00 00${module}`)).toEqual([
        ['system', 'active', '333', 'YX', reported('333', 'expander_failure', module)],
      ]);
    rig.restart();
    expect(say('1333 00 005')).toEqual([]);
    expect(say('3351 00 000')).toEqual([['comm_fail', 'restored', '351', 'YK', phone]]);
    expect(say('3351 00 000')).toEqual([]);
    // Without its number it ends both.
    expect(say('3333 00 000').map(([, status, code]) => [status, code])).toEqual([
      ['restored', '333'],
      ['restored', '333'],
    ]);
    expect(Object.values(rig.site.state.troubles)).toMatchObject([{ reported: radio }]);
    const line = reported('LT', 'phone_line');
    expect(say('Nri0/LT')).toEqual([['comm_fail', 'active', '350', 'LT', line]]);
    expect(say('Nri0/LR')).toEqual([['comm_fail', 'restored', '350', 'LR', { ...line, code: 'LR' }]]);
    // What begins in two ways has one end.
    expect(say('Nri0/YT/YM').map(([, , , sia]) => sia)).toEqual(['YT', 'YM']);
    expect(say('Nri0/YR').map(([kind, status]) => [kind, status])).toEqual(
      Array.from({ length: 2 }, () => ['battery_low', 'restored']),
    );
  });

  it('a trouble that waits for its report keeps what was reported', () => {
    const reportAfterMs = { cloud: 0, broker: 0, panel: 0, camera: 0, acLoss: 60_000 };
    const unstable = { changes: 3, windowMs: 600_000, quietMs: 600_000 };
    const rig = reporting({ supervision: { unstable, reportAfterMs } });
    expect(rig.say('1301 00 000').told).toEqual([]);
    const events = rig.site.events(rig.site.pass(60_000));
    expect(events).toMatchObject([{ kind: 'ac_loss', contactId: '301', reported: { code: '301', term: 'ac_loss' } }]);
  });

  it('no pulse ends a trouble', () => {
    const rig = reporting();
    rig.say('1310 00 000');
    expect(rig.say('1461 00 003').events).toMatchObject([
      { status: 'active', contactId: '461', reported: { number: '3' } },
      { status: 'restored', contactId: '461' },
    ]);
    expect(rig.say('3310 00 000').told).toEqual(['system restored ']);
  });

  it('one that an earlier version has kept, without its code, ends with any end of its kind', () => {
    const rig = reporting();
    const key = 'system|panel:main|';
    const kept = { trouble: 'system', source: { kind: 'panel', id: 'main' }, since: 1 } as const;
    rig.site.state = { ...rig.site.state, troubles: { [key]: kept } };
    expect(rig.say('3333 00 004').told).toEqual(['system restored ']);
  });

  it('of more than are followed the oldest ends, and says why', () => {
    const rig = reporting();
    for (let n = 1; n <= 64; n += 1) {
      rig.say(`1333 00 ${String(n).padStart(3, '0')}`);
      if (n % 32 === 0) rig.site.pass(600_000);
    }
    const told = rig
      .say('1333 00 065')
      .events.map(({ status, reported, detail }) => [status, reported?.number, detail]);
    expect(told).toEqual([
      ['active', '65', undefined],
      ['restored', '1', expect.stringContaining('no longer followed')],
    ]);
    expect(Object.keys(rig.site.state.troubles)).toHaveLength(64);
  });

  it.each([
    ['1134 01 002', { contactId: '134', sia: 'BA', reported: { code: '134', number: '2', term: 'entry_exit' } }],
    ['Nri1/KA004', { contactId: '110', sia: 'KA', reported: { code: 'KA', number: '4', term: 'heat' } }],
    ['1144 01 002', { contactId: '144', sia: 'TA', reported: { code: '144', number: '2', term: 'sensor_tamper' } }],
    ['3408 01 007', { contactId: '408', sia: 'CL', reported: { code: '408', number: '7', term: 'quick_arm' } }],
    ['1130 01 099', { contactId: '130', reported: { code: '130', number: '99', term: 'burglary' } }],
    ['1602 00 000', { contactId: '602', reported: { code: '602', term: 'periodic_test' } }],
    ['Nri1/BB002', undefined],
  ])('%s stands in its event with its own code', (data, event) => {
    const rig = reporting();
    if (!data.startsWith('34')) rig.say('Nri1/CL7');
    expect(rig.say(data).events[0]).toEqual(event === undefined ? undefined : expect.objectContaining(event));
  });

  it('no opening is the code of what it takes back or makes calm', () => {
    const rig = reporting();
    rig.say('Nri1/CL7');
    rig.say('Nri1/BA002');
    expect(rig.say('1401 01 007').events.map(({ kind, status, contactId }) => [kind, status, contactId])).toEqual([
      ['burglary_perimeter', 'cancelled', '406'],
      ['disarmed', 'active', '401'],
      ['burglary_perimeter', 'restored', '131'],
    ]);
  });

  it('a trouble of a detector ends with its restore', () => {
    const rig = reporting();
    rig.say('Nri1/FT010');
    expect(rig.say('Nri1/FJ010').told).toEqual(['system restored 10']);
  });
});
