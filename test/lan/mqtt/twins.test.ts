import { describe, expect, it } from 'vitest';
import { bench, brokers } from './bench.ts';
import { commandId, mosquittoPath, now, root, startMosquitto, until } from './harness.ts';

/** What MQTT 5 says beside a payload, each with its twin in the payload, for what has a way of its own. */
const verbs = [
  ['panic', { kind: 'medical' }],
  ['silence', { partition: 'p1' }],
  ['snapshot', { camera: 'yard' }],
  ['ping', {}],
  ['play', { audio_message_id: 'announcement.leave' }],
  ['cancel', { playback_id: 'playback-1' }],
] as const;
const soon = () => new Date(Date.now() + 30_000).toISOString();
const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xd9]);

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`the payload of MQTT 3.1.1 on ${name}`, () => {
    const on = bench(startBroker);
    it.each(verbs)('%s: id, address, correlation and expiry', async (verb, about) => {
      await on.start();
      on.site.pictures = { yard: jpeg };
      on.site.setPlan({ speakers: ['gate'] });
      on.site.sound.set('playback-1', 'playing');
      const watcher = await on.observe({ protocolVersion: 4 });
      const id = commandId();
      const reply_to = `${root}/reply/kp1/door/7`;
      await on.send(watcher, verb, { id, issued_at: now(), expires_at: soon(), reply_to, correlation: 'c1', ...about });
      expect(await on.final(watcher, id)).toMatchObject({ topic: 'kp1/door/7', correlation: 'c1', outcome: 'done' });
      const [given] = [...on.site.submitted, ...on.site.called];
      if (verb !== 'ping') expect(given?.expiresAt).toBeGreaterThan(Date.now());
    });
  });
}

describe.skipIf(mosquittoPath === undefined)('the properties of MQTT 5 on mosquitto', () => {
  const on = bench(startMosquitto);
  it.each(verbs)('%s: user property id, response topic, correlation data and message expiry', async (verb, about) => {
    await on.start();
    on.site.pictures = { yard: jpeg };
    on.site.setPlan({ speakers: ['gate'] });
    on.site.sound.set('playback-1', 'playing');
    const watcher = await on.observe({ protocolVersion: 5 });
    const id = commandId();
    const responseTopic = `${root}/reply/kp1/door/7`;
    const correlationData = Buffer.from([1, 2, 255]);
    const properties = { responseTopic, correlationData, messageExpiryInterval: 30, userProperties: { id } };
    const payload = JSON.stringify({ issued_at: now(), ...about });
    await watcher.client.publishAsync(`${root}/cmd/${verb}`, payload, { qos: 1, properties });
    expect(await on.final(watcher, id)).toMatchObject({ topic: 'kp1/door/7', outcome: 'done' });
    const answers = await until(() => {
      const found = watcher.packets.filter(({ topic }) => topic === responseTopic);
      return found.length > 0 && found;
    }, 'answers');
    for (const answer of answers) expect(answer.properties?.correlationData).toEqual(correlationData);
    const [given] = [...on.site.submitted, ...on.site.called];
    // What the broker still hands out has not expired, and a call for help never does.
    if (verb !== 'ping' && verb !== 'panic') expect(given?.expiresAt).toBeGreaterThan(Date.now());
  });
});
