import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCollection } from '../../../src/devices/onvif/discovery/collect.ts';
import { probes, readAnswer } from '../../../src/devices/onvif/discovery/messages.ts';
import { placesOf } from '../../../src/devices/onvif/discovery/places.ts';
import { decodeScope, readScopes } from '../../../src/devices/onvif/discovery/scopes.ts';
import { readTargets } from '../../../src/devices/onvif/discovery/targets.ts';
import { type MatchText, probeMatches, refusedProbe } from './responder.ts';

const id = 'urn:uuid:11111111-2222-3333-4444-555555555555';
const answer = (...matches: MatchText[]) => readAnswer(Buffer.from(probeMatches(id, matches)));

function matchesOf(...matches: MatchText[]) {
  const read = answer(...matches);
  if (read?.kind !== 'matches') throw new Error('no matches were read');
  return read.matches;
}

describe('the questions', () => {
  it('ask for every type with both forms of the message id, each under an id of its own', () => {
    const texts = probes().map(({ bytes }) => bytes.toString());
    const asked = texts.map((text) => [
      /<a:MessageID>(urn:uuid:|uuid:)[0-9a-f-]{36}</.exec(text)?.[1],
      /<d:Types[^>]*>\w+:(\w+)/.exec(text)?.[1] ?? 'none',
    ]);
    expect(asked.map((one) => one.join(' ')).sort()).toEqual(
      ['urn:uuid:', 'uuid:'].flatMap((form) =>
        ['Device', 'NetworkVideoTransmitter', 'none'].map((t) => `${form} ${t}`),
      ),
    );
    expect(new Set(probes().map((probe) => probe.id)).size).toBe(6);
  });
});

describe('an answer', () => {
  it('may hold several matches, and both forms of an id name one endpoint', () => {
    const matches = matchesOf(
      { endpoint: 'urn:uuid:AA-1', xaddrs: 'http://192.0.2.1/onvif/device_service' },
      { endpoint: 'uuid:aa-2', xaddrs: 'http://192.0.2.1:81/onvif/device_service https://192.0.2.1/x' },
    );
    expect(matches.map(({ endpoint }) => endpoint)).toEqual(['aa-1', 'aa-2']);
    expect(matches[1]?.xaddrs).toHaveLength(2);
  });

  it('bug 60: may hold none (QNAP), or one without addresses', () => {
    expect(answer()).toEqual({ kind: 'matches', relatesTo: '11111111-2222-3333-4444-555555555555', matches: [] });
    expect(matchesOf({ endpoint: 'uuid:x' })).toEqual([{ endpoint: 'x', scopes: [], xaddrs: [], records: false }]);
  });

  it('bug 62: that is a fault tells that a device lives there', () => {
    expect(readAnswer(Buffer.from(refusedProbe(id)))).toMatchObject({ kind: 'fault' });
  });

  it.each<[string, MatchText, boolean]>([
    ['a camera by its type', { types: 'dn:NetworkVideoTransmitter tds:Device' }, true],
    ['a device of ONVIF', { types: 'tds:Device' }, true],
    ['an unknown type with ONVIF scopes', { types: 'x:y', scopes: ['onvif://www.onvif.org/Profile/Streaming'] }, true],
    ['a recorder', { types: 'dn:NetworkVideoStorage' }, true],
    ['a printer', { types: 'wsdp:Device', scopes: ['ldap:///printers'] }, false],
    ['a NAS', { types: 'wsdp:Device pub:Computer' }, false],
    ['a display', { types: 'dn:NetworkVideoDisplay' }, false],
    ['one without a word', { types: '' }, false],
  ])('of %s is taken: %s', (_, match, taken) => {
    expect(matchesOf(match)).toHaveLength(taken ? 1 : 0);
  });

  it.each([
    ['something else', '<html><body>no</body></html>'],
    ['our own question', probes()[0]?.bytes.toString() ?? ''],
    ['an entity bomb', '<!DOCTYPE a [<!ENTITY b "bb">]><s:Envelope>&b;</s:Envelope>'],
    ['nothing', ''],
  ])('that is %s is none', (_, text) => {
    expect(readAnswer(Buffer.from(text))).toBeUndefined();
  });

  it('cut or changed at any of 60 places never throws, and neither does what reads it on', () => {
    const whole = Buffer.from(
      probeMatches(id, [
        {
          endpoint: 'uuid:1',
          scopes: ['onvif://www.onvif.org/name/A%20B'],
          xaddrs: 'http://192.0.2.1/x http://[fe80::1]/x',
        },
      ]),
    );
    const random = seeded(62);
    let read = 0;
    for (let round = 0; round < 60; round += 1) {
      const bytes = Buffer.from(whole.subarray(0, round % 2 === 0 ? whole.length : random() % whole.length));
      for (let change = 0; change < round % 5; change += 1) bytes[random() % bytes.length] = random() % 256;
      const seen = readAnswer(bytes);
      if (seen?.kind !== 'matches') continue;
      read += 1;
      const collection = createCollection();
      for (const match of seen.matches) {
        collection.add(match, 'fe80::1%eth0');
        readScopes(match.scopes);
      }
      collection.list();
    }
    // Some were whole, and most were not.
    expect(read).toBeGreaterThan(5);
    expect(read).toBeLessThan(60);
  });

  const captures = join(import.meta.dirname, '../../../../shared/data/onvif-captures/probematch');
  it.skipIf(!existsSync(captures)).each([
    [
      '01-631GA.xml',
      { name: 'IPCAM', hardware: '631GA', location: 'china' },
      'http://192.168.1.1/onvif/device_service',
    ],
    [
      '02-IP2M-841B.xml',
      { vendor: 'Amcrest', name: 'Amcrest', hardware: 'IP2M-841B', location: 'china' },
      'http://192.168.1.235/onvif/device_service',
    ],
    [
      '03-631GA.xml',
      { name: 'IPCAM', hardware: '631GA', location: 'china' },
      'http://192.168.1.1/onvif/device_service',
    ],
  ])('captured in ../shared, %s, is read', (file, facts, url) => {
    const read = readAnswer(readFileSync(join(captures, file)));
    if (read?.kind !== 'matches') throw new Error('not read');
    expect(read.matches).toHaveLength(1);
    expect(readScopes(read.matches[0]?.scopes ?? [])).toEqual(facts);
    expect(placesOf(read.matches[0]?.xaddrs ?? [], '192.168.1.235').map((place) => place.url)).toContain(url);
  });
});

describe('scopes', () => {
  it.each([
    ['HIKVISION%20DS-2CD2143G0-I', 'HIKVISION DS-2CD2143G0-I'],
    ['Back+Yard', 'Back Yard'],
    ['DCS-4622+', 'DCS-4622+'],
    ['K%C3%BCche', 'Küche'],
    ['K%FCche', 'Küche'],
    ['50%25%ZZ%2', '50%%ZZ%2'],
    ['a%00b%1B%5B31m', 'a b [31m'],
  ])('%s is %s', (text, meant) => {
    expect(decodeScope(text)).toBe(meant);
  });

  it('tell vendor, name, hardware, place and MAC, whatever case they are written in', () => {
    expect(
      readScopes([
        'onvif://www.onvif.org/Name/AXIS%20M3045-V',
        'onvif://www.onvif.org/HARDWARE/M3045-V',
        'onvif://www.onvif.org/location/city/Lund',
        'onvif://www.onvif.org/location/country/sweden',
        'onvif://www.onvif.org/MAC/AC:CC:8E:00:11:22',
        'onvif://www.onvif.org/',
        'http://example.net/name/other',
      ]),
    ).toEqual({
      vendor: 'Axis',
      name: 'AXIS M3045-V',
      hardware: 'M3045-V',
      location: 'Lund, sweden',
      mac: 'ac:cc:8e:00:11:22',
    });
  });
});

describe('the place of a device', () => {
  const urls = (xaddrs: string, sender: string) => placesOf(xaddrs.split(' '), sender).map(({ url }) => url);

  it('bug 58: is the sender’s own, then routable IPv4, and never link-local', () => {
    expect(
      urls('http://169.254.1.2/a http://10.0.0.4/a http://192.168.0.90/a http://[fd00::9]/a', '192.168.0.90'),
    ).toEqual(['http://192.168.0.90/a', 'http://10.0.0.4/a', 'http://[fd00::9]/a']);
  });

  it('bug 31: is the sender with the reported port and path where it reports another host', () => {
    expect(urls('http://192.168.1.1:8000/onvif/device_service', '10.0.0.7')).toEqual([
      'http://10.0.0.7:8000/onvif/device_service',
      'http://192.168.1.1:8000/onvif/device_service',
    ]);
  });

  it.each([
    '',
    'http://0.0.0.0/onvif/device_service',
    'rtsp://10.0.0.7/',
    'http://',
    'http://127.0.0.1/onvif/device_service',
  ])('is the usual one at the sender where "%s" is reported', (xaddrs) => {
    expect(urls(xaddrs, '10.0.0.7')).toEqual(['http://10.0.0.7/onvif/device_service']);
  });

  it('is link-local where there is nothing else, IPv6 with the zone it was heard in', () => {
    expect(urls('http://169.254.1.2/a', '169.254.1.2')).toEqual(['http://169.254.1.2/a']);
    expect(placesOf(['http://[fe80::1]/a'], 'fe80::1%eth1')).toEqual([
      { url: 'http://[fe80::1%25eth1]/a', host: 'fe80::1%eth1' },
    ]);
    expect(urls('http://[fe80::1%25eth9]/a http://10.0.0.7/a', 'fe80::1%eth1')).toEqual(['http://10.0.0.7/a']);
  });
});

describe('devices', () => {
  const one = (endpoint: string, ...xaddrs: string[]) => ({ endpoint, scopes: [], xaddrs, records: false });

  it('that answer twice are one, by endpoint over two families and by address', () => {
    const collection = createCollection();
    collection.add(one('e1', 'http://10.0.0.7/a'), '10.0.0.7');
    collection.add(one('e1', 'http://10.0.0.7/a'), 'fe80::7%eth0');
    collection.add(one('changing', 'http://10.0.0.7/a'), '10.0.0.7');
    expect(collection.list()).toMatchObject([{ endpoint: 'e1', senders: ['10.0.0.7', 'fe80::7%eth0'] }]);
    expect(collection.list()[0]?.places.map(({ url }) => url)).toEqual(['http://10.0.0.7/a']);
  });

  it('with one endpoint at two addresses that do not know each other are two: cheap firmware is copied', () => {
    const collection = createCollection();
    collection.add(one('same', 'http://10.0.0.7/a'), '10.0.0.7');
    collection.add(one('same', 'http://10.0.0.8/a'), '10.0.0.8');
    collection.add(one('cable-and-radio', 'http://10.0.0.9/a', 'http://10.0.1.9/a'), '10.0.0.9');
    collection.add(one('cable-and-radio', 'http://10.0.0.9/a', 'http://10.0.1.9/a'), '10.0.1.9');
    expect(collection.list()).toHaveLength(3);
  });

  it('of which only a fault is known are listed, unless the same address says more', () => {
    const collection = createCollection();
    collection.addFault('10.0.0.7');
    collection.addFault('10.0.0.8');
    collection.add(one('e1', 'http://10.0.0.7:8000/a'), '10.0.0.7');
    expect(collection.list().map(({ places }) => places[0]?.url)).toEqual([
      'http://10.0.0.7:8000/a',
      'http://10.0.0.8/onvif/device_service',
    ]);
  });

  it('are bounded in number, and what is beyond is counted', () => {
    const collection = createCollection(3);
    for (let at = 1; at <= 5; at += 1) collection.add(one(`e${at}`, `http://10.0.0.${at}/a`), `10.0.0.${at}`);
    expect([collection.list().length, collection.left]).toEqual([3, 2]);
  });
});

describe('addresses to ask', () => {
  const hosts = (...texts: string[]) => readTargets(texts).map(({ host }) => host);

  it('are single ones, networks, ranges and names, each once', () => {
    expect(hosts('192.0.2.10', '192.0.2.8/30', '192.0.2.10-12', 'fd00::10', 'yard.lan')).toEqual([
      '192.0.2.10',
      '192.0.2.9',
      '192.0.2.11',
      '192.0.2.12',
      'fd00::10',
      'yard.lan',
    ]);
    expect(hosts('192.0.2.250-192.0.3.2')).toHaveLength(9);
    expect(hosts('192.0.2.7/32', '192.0.2.8/31')).toEqual(['192.0.2.7', '192.0.2.8', '192.0.2.9']);
    expect(hosts('10.1.16.0/20')).toHaveLength(4094);
  });

  it('may name the port or the whole address', () => {
    expect(readTargets(['192.0.2.10:8899', '[fd00::1]:81', 'http://192.0.2.10:81/', 'fe80::1%eth0'])).toEqual([
      { host: '192.0.2.10', port: 8899 },
      { host: 'fd00::1', port: 81 },
      { host: '192.0.2.10', url: 'http://192.0.2.10:81/onvif/device_service' },
      { host: 'fe80::1%eth0' },
    ]);
  });

  it.each([
    '',
    '192.0.2',
    '192.0.2.300',
    '192.0.2.10:0',
    '192.0.2.0/33',
    '192.0.2.9-3',
    'a b',
    'rtsp://192.0.2.1/',
    '-x',
    'http://',
  ])('"%s" is none, and that is said', (text) => {
    expect(() => readTargets([text])).toThrow(expect.objectContaining({ code: 'request_invalid' }));
  });

  it('are at most 4,096, in one range or in all', () => {
    for (const texts of [['10.0.0.0/8'], ['10.0.0.0/19'], ['10.0.0.1-10.0.40.1'], ['10.0.0.0/20', '10.1.0.0/29']])
      expect(() => readTargets(texts)).toThrow(/at most 4096 addresses/);
  });

  it('hold no password, and none is repeated', () => {
    expect(() => readTargets(['http://admin:hunter2@192.0.2.1/'])).toThrow(/must not hold/);
    for (const text of [
      'http://admin:hunter2@192.0.2.1/',
      'admin:hunter2@192.0.2.1',
      'http://admin:hun/ter2@h/',
      'http://u:hunter2',
    ])
      expect(() => readTargets([text])).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/hun/) }));
  });
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}
