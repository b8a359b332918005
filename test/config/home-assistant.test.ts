import { describe, expect, it } from 'vitest';
import { problems } from './fixture.ts';

const site = `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: A } ]
`;
const client = (role: string) => `clients: [ { id: ha, role: ${role}, password: { env: KEY } } ]`;
const told = (rest: string) =>
  problems(`${site}${rest}`).filter((line) => !line.includes('cannot be read: the variable is not set'));

describe('what is written for Home Assistant', () => {
  it.each([
    'mqtt: { home_assistant: {} }',
    'mqtt: { home_assistant: { prefix: ha/discovery }, listen: "[::1]:1883" }',
    `mqtt: { home_assistant: {}, listen: "0.0.0.0:1883", ${client('ha')} }`,
    `mqtt: { home_assistant: {}, ${client('ha-trusted')} }\narming: { disarm_code: optional }`,
    'mqtt: { home_assistant: {}, broker: "mqtt://127.0.0.1:1883" }',
  ])('may be %s', (rest) => {
    expect(told(rest)).toEqual([]);
  });

  it.each([
    [`mqtt: { ${client('ha')} }`, 'mqtt.clients[0].role: has no effect without mqtt.home_assistant'],
    ['mqtt: { home_assistant: {}, listen: "0.0.0.0:1883" }', 'mqtt.home_assistant: Home Assistant could not log in'],
    [
      `mqtt: { home_assistant: {}, ${client('ha-trusted')} }`,
      'mqtt.clients[0].role: is no more than ha while disarming takes a code',
    ],
    [
      `mqtt: { home_assistant: {}, broker: "mqtt://127.0.0.1:1883", ${client('ha-trusted')} }\narming: { disarm_code: optional }`,
      'mqtt.clients[0].role: is no more than ha with an external broker',
    ],
    ['mqtt: { home_assistant: { prefix: siteward } }', "must not lie among siteward's own topics"],
    ['mqtt: { home_assistant: { prefx: ha } }', 'prefx'],
  ])('is told where it has no effect: %s', (rest, expected) => {
    expect(told(rest).join('\n')).toContain(expected);
  });
});
