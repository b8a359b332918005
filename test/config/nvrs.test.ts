import { describe, expect, it } from 'vitest';
import { inputZones, sitePlan, views } from '#config/index.ts';
import { identityOf } from '#daemon/cloud.ts';
import { minimal, problems, settings } from './fixture.ts';

const nvr = (id: string, channels: string, more = '') =>
  `  - { id: ${id}, url: "http://192.0.2.9/"${more}, channels: [${channels}] }\n`;
const both = `cameras:
  - { id: yard, url: "http://192.0.2.1/", zone: "21", inputs: { "1": { zone: "40", zone_type: perimeter } } }
nvrs:
${nvr(
  'rec',
  '{ id: door, source: VideoSource_1, zone: "31", pictures: always }, { id: hall, position: 2, name: Hall }',
  ', inputs: { AlarmIn_1: { zone: "41", name: Gate contact, zone_type: perimeter, normally: closed } }',
)}`;

describe('nvrs', () => {
  it('each channel is a camera of the site, and each input a zone', () => {
    const plan = sitePlan(settings(minimal + both));
    expect(plan.cameras).toEqual([
      { id: 'yard', name: 'yard', zone: '21', partitions: ['p1'], pictures: 'alarm' },
      { id: 'door', name: 'door', nvr: 'rec', zone: '31', partitions: ['p1'], pictures: 'always' },
      { id: 'hall', name: 'Hall', nvr: 'rec', partitions: ['p1'], pictures: 'alarm' },
    ]);
    expect(plan.nvrs).toEqual(['rec']);
    expect(
      plan.zones.map(({ number, name, source, input, cameras }) => [number, name, source, input, cameras]),
    ).toEqual([
      ['21', 'yard', { kind: 'camera', id: 'yard' }, undefined, ['yard']],
      ['31', 'door', { kind: 'camera', id: 'door' }, undefined, ['door']],
      ['40', 'Input 1 of yard', { kind: 'camera', id: 'yard' }, '1', ['yard']],
      ['41', 'Gate contact', { kind: 'nvr', id: 'rec' }, 'AlarmIn_1', []],
    ]);
  });

  it('are told apart and named for the cloud as cameras are', () => {
    const all = settings(minimal + both);
    expect(views(all).map(({ id, nvr }) => [id, nvr])).toEqual([
      ['yard', undefined],
      ['door', 'rec'],
      ['hall', 'rec'],
    ]);
    expect(inputZones(all).map(({ token, source }) => `${source.kind}:${source.id} ${token}`)).toEqual([
      'camera:yard 1',
      'nvr:rec AlarmIn_1',
    ]);
    expect(identityOf(all).cameraIds).toEqual({ yard: 'yard', door: 'door', hall: 'hall' });
  });

  it.each([
    [
      'a channel with the id of a camera',
      `cameras: [ { id: a, url: "http://192.0.2.1/" } ]\nnvrs:\n${nvr('r', '{ id: a, position: 1 }')}`,
      'nvrs[0].channels[0].id: another camera, recorder or channel has this id',
    ],
    [
      'a recorder with the id of its channel',
      `nvrs:\n${nvr('a', '{ id: a, position: 1 }')}`,
      'nvrs[0].id: another camera, recorder or channel has this id',
    ],
    [
      'a zone used twice',
      `nvrs:\n${nvr('r', '{ id: a, position: 1, zone: "1" }, { id: b, position: 2, zone: "1" }')}`,
      'nvrs[0].channels[1].zone: this zone number is used twice',
    ],
    [
      'one zone number in two spellings',
      `nvrs:\n${nvr('r', '{ id: a, position: 1, zone: "22" }, { id: b, position: 2, zone: "022" }')}`,
      'nvrs[0].channels[1].zone: this zone number is used twice',
    ],
    [
      'an input with the zone of a channel',
      `nvrs:\n${nvr('r', '{ id: a, position: 1, zone: "1" }', ', inputs: { "7": { zone: "1", zone_type: fire } }')}`,
      'nvrs[0].inputs.7.zone: this zone number is used twice',
    ],
    [
      'two recorders with one id of the service',
      `nvrs:\n${nvr('r', '{ id: a, position: 1 }', ', cloud_nvr_id: "501"')}${nvr('s', '{ id: b, position: 1 }', ', cloud_nvr_id: "501"')}`,
      'nvrs[1].cloud_nvr_id: another entry has this id of the service',
    ],
    [
      'a partition that is not there',
      `nvrs:\n${nvr('r', '{ id: a, position: 1, zone: "1", partition: p9 }')}`,
      'nvrs[0].channels[0].partition: there is no such partition',
    ],
    [
      'a partition of an input that is not there',
      `nvrs:\n${nvr('r', '{ id: a, position: 1 }', ', inputs: { "7": { zone: "1", zone_type: fire, partition: p9 } }')}`,
      'nvrs[0].inputs.7.partition: there is no such partition',
    ],
    [
      'two channels of one source',
      `nvrs:\n${nvr('r', '{ id: a, source: x }, { id: b, source: x }')}`,
      'nvrs[0].channels[1].source: another channel of this recorder has this source',
    ],
    [
      'two channels of one position',
      `nvrs:\n${nvr('r', '{ id: a, position: 2 }, { id: b, position: 2 }')}`,
      'nvrs[0].channels[1].position: another channel of this recorder has this position',
    ],
    [
      'neither source nor position',
      `nvrs:\n${nvr('r', '{ id: a }')}`,
      'nvrs[0].channels[0].source: or position is needed, and only one of them',
    ],
    [
      'source and position',
      `nvrs:\n${nvr('r', '{ id: a, source: x, position: 1 }')}`,
      'nvrs[0].channels[0].source: or position is needed, and only one of them',
    ],
    [
      'a channel that is a silent hold-up',
      `nvrs:\n${nvr('r', '{ id: a, position: 1, zone: "1", zone_type: panic_silent }')}`,
      'nvrs[0].channels[0].zone_type: is for hold-up buttons, not for what a camera sees',
    ],
    [
      'a camera that is a silent hold-up',
      'cameras: [ { id: a, url: "http://192.0.2.1/", zone: "1", zone_type: panic_silent } ]\n',
      'cameras[0].zone_type: is for hold-up buttons, not for what a camera sees',
    ],
    ['no channel', `nvrs:\n${nvr('r', '')}`, 'nvrs[0].channels:'],
    [
      'a password without a user',
      `nvrs:\n${nvr('r', '{ id: a, position: 1 }', ', password: { env: CAM }')}`,
      'nvrs[0].username: is needed with a password',
    ],
  ])('refuse %s', (_, text, problem) => {
    expect(problems(minimal + text).join('\n')).toContain(problem);
  });

  it('take a panel zone that names a channel for its pictures', () => {
    const panel = `panels:\n  - { id: main, profile: pai, zones: { "1": { type: fire, cameras: [door, dor] } } }\n`;
    expect(problems(minimal + panel + both).join('\n')).toMatch(
      /cameras\[1\]: there is no such camera.*did you mean "door"/,
    );
    expect(problems(minimal + panel.replace(', dor', '') + both)).toEqual([]);
  });

  it('take a silent button that is wired to one', () => {
    const wired = nvr('r', '{ id: a, position: 1 }', ', inputs: { "7": { zone: "7", zone_type: panic_silent } }');
    expect(problems(`${minimal}nvrs:\n${wired}`)).toEqual([]);
  });

  it('need a partition for a zone where the site has more than one', () => {
    const two = minimal.replace('Offices }', 'Offices }, { id: p2, name: Store }');
    expect(problems(two + both).filter((line) => line.includes('is missing')).length).toBe(4);
  });

  it('are bounded: 64 cameras and channels together, 16 recorders', () => {
    const camera = (at: number) => `  - { id: c${at}, url: "http://192.0.2.1/" }\n`;
    const cameras = `cameras:\n${Array.from({ length: 60 }, (_, at) => camera(at)).join('')}`;
    const channels = (count: number) =>
      Array.from({ length: count }, (_, at) => `{ id: n${at}, position: ${at + 1} }`).join(', ');
    expect(problems(`${minimal}${cameras}nvrs:\n${nvr('r', channels(4))}`)).toEqual([]);
    expect(problems(`${minimal}${cameras}nvrs:\n${nvr('r', channels(5))}`).join()).toContain(
      'at most 64 cameras and channels',
    );
    const many = Array.from({ length: 17 }, (_, at) => nvr(`r${at}`, `{ id: m${at}, position: 1 }`)).join('');
    expect(problems(`${minimal}nvrs:\n${many}`).join()).toContain('nvrs:');
  });
});
