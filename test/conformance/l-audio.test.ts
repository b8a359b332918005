import { expect } from 'vitest';
import { done, number, refused, text, time } from './answers.ts';
import { type Place, place } from './audio-place.ts';
import type { Loose } from './http.ts';
import { conformance } from './server.ts';

const service = conformance();
const { rule, call } = service;

const words = ['queued', 'playing', 'completed', 'failed', 'cancelled'];
const categories = ['alarm', 'announcement', 'test', 'greeting', 'reminder', 'custom'];

const list = (at: Place) => call('GET', `${at.audio}/audio-messages`, { token: at.key, to: 'ext' });
const messagesOf = (body: Loose): readonly Loose[] => (body.data?.audio_messages ?? []) as unknown as readonly Loose[];

/** The first message of the site. */
async function aMessage(at: Place): Promise<string> {
  const [message] = messagesOf(done(await list(at)));
  return String(service.need(message?.audio_message_id, 'needs a site with an audio message'));
}

const playPath = (at: Place, message: string) => `${at.audio}/audio-messages/${encodeURIComponent(message)}/play`;

/** Plays quietly unless told otherwise, since somebody may hear it. */
async function play(at: Place, json?: object) {
  service.need(service.target().actions || undefined, 'needs --allow-actions: it is heard');
  const ask = { token: at.key, to: 'ext' } as const;
  return call('POST', playPath(at, await aMessage(at)), json === undefined ? ask : { ...ask, json });
}

/** A refusal of the audio interface (S-172). */
function invalid(body: Loose, field?: string): void {
  expect(body.error).toMatchObject({
    code: 'invalid_request',
    message: text,
    ...(field === undefined ? {} : { field }),
  });
}

rule('S-170 the messages of a site are listed in data, with their count', async () => {
  const body = done(await list(await place(service)));
  const messages = messagesOf(body);
  expect(body.data?.total_count).toBe(messages.length);
  expect(messages.length).toBeGreaterThan(0);
});

rule('S-170 a message has six members', async () => {
  for (const message of messagesOf(done(await list(await place(service))))) {
    expect(message).toMatchObject({
      audio_message_id: text,
      name: text,
      description: text,
      duration_seconds: number,
      language: expect.stringMatching(/^[a-z]{2}-[A-Z]{2}$/),
    });
    expect(categories).toContain(message.category);
  }
});

rule('S-171 a play without members is at volume 70, once, on all devices', async () => {
  const at = await place(service);
  const playback = done(await play(at, {})).data;
  expect(playback).toMatchObject({ volume: 70, repeat: 1, status: 'playing' });
  const devices = (playback?.devices ?? []) as unknown as readonly Loose[];
  for (const id of at.devices) expect(devices.map((device) => device.device_id)).toContain(id);
});

rule('S-171 volume is 0 to 100 and repeat 1 to 5, both ends included', async () => {
  const at = await place(service);
  for (const [volume, repeat] of [
    [0, 1],
    [1, 5],
    [100, 1],
  ]) {
    expect(done(await play(at, { volume, repeat })).data).toMatchObject({ volume, repeat });
  }
});

rule('S-171 target_devices chooses the devices', async () => {
  const at = await place(service);
  const [device] = at.devices;
  const target = service.need(device, 'needs a device');
  const playback = done(await play(at, { volume: 1, target_devices: [target] })).data;
  expect(playback?.devices).toMatchObject([{ device_id: target }]);
});

rule('S-172 what is out of range, a fraction or no number is refused', async () => {
  const at = await place(service);
  for (const volume of [-1, 101, 50.5, '50', null, true]) refused(await play(at, { volume }), 400, 'volume');
  for (const repeat of [0, 6, 1.5, '2', null]) refused(await play(at, { repeat }), 400, 'repeat');
});

rule('S-172 the refusal is an error object that names the field', async () => {
  const at = await place(service);
  invalid(refused(await play(at, { volume: 101 }), 400), 'volume');
  invalid(refused(await play(at, { repeat: 0 }), 400), 'repeat');
});

rule('S-172 no key or a wrong one gives 401; an unknown site or message 404', async () => {
  const at = await place(service);
  const known = `${at.audio}/audio-messages`;
  for (const token of [undefined, `${at.key}x`]) {
    refused(await call('GET', known, { token, to: 'ext' }), 401);
    refused(await call('POST', playPath(at, 'no-such-message'), { token, json: {}, to: 'ext' }), 401);
  }
  refused(await call('GET', '/ext/v1/sites/999999999/audio-messages', { token: at.key, to: 'ext' }), 404);
  refused(await call('POST', playPath(at, 'no-such-message'), { token: at.key, json: {}, to: 'ext' }), 404);
});

rule('S-173 the body may be absent; an empty or unknown target gives 400', async () => {
  const at = await place(service);
  expect(done(await play(at)).data).toMatchObject({ volume: 70, repeat: 1 });
  for (const target_devices of [[], ['no-such-device'], 'all', null]) {
    const body = refused(await play(at, { volume: 1, target_devices }), 400);
    invalid(body);
    expect(JSON.stringify(body)).toContain('target_devices');
  }
});

rule('S-173 ids of devices are compared as texts', async () => {
  const at = await place(service);
  const target = service.need(at.devices[0], 'needs a device');
  service.need(/^\d+$/.test(target) || undefined, 'needs a device whose id is a number');
  const playback = done(await play(at, { volume: 1, target_devices: [Number(target)] })).data;
  expect(playback?.devices).toMatchObject([{ device_id: target }]);
});

rule('S-174 a playback has its id, the message, a status, a start, and its devices', async () => {
  const at = await place(service);
  const playback = done(await play(at, { volume: 1 })).data;
  expect(playback).toMatchObject({
    playback_id: text,
    audio_message_id: await aMessage(at),
    started_at: time,
    volume: 1,
    repeat: 1,
  });
  expect(words).toContain(playback?.status);
  const devices = (playback?.devices ?? []) as unknown as readonly Loose[];
  expect(devices.length).toBeGreaterThan(0);
  for (const device of devices) {
    expect(device).toMatchObject({ device_id: text, name: text });
    expect(words).toContain(device.status);
  }
});

rule('S-175 /ref/v1 has the same two calls, by account reference', async () => {
  const at = await place(service);
  const reference = service.need(at.reference, 'needs --account-reference');
  const there = { ...at, audio: `/ref/v1/sites/${encodeURIComponent(reference)}` };
  expect(done(await list(there))).toEqual(done(await list(at)));
  expect(done(await play(there, { volume: 1 })).data).toMatchObject({ volume: 1, playback_id: text });
  refused(await play(there, { volume: 101 }), 400, 'volume');
  refused(await call('GET', '/ref/v1/sites/no-such-reference/audio-messages', { token: at.key, to: 'ext' }), 404);
});

rule('S-176 a playback cannot be read', async () => {
  const at = await place(service);
  const id = String(done(await play(at, { volume: 1 })).data?.playback_id);
  const known = `${at.audio}/audio-messages`;
  for (const path of [`${known}/${id}`, `${at.audio}/playbacks/${id}`]) {
    refused(await call('GET', path, { token: at.key, to: 'ext' }), 404);
  }
});

rule('S-177 the same play twice is heard twice: it must not be repeated after a lost answer', async () => {
  const at = await place(service);
  const ids = [await play(at, { volume: 1 }), await play(at, { volume: 1 })].map((answer) => done(answer).data);
  expect(new Set(ids.map((playback) => playback?.playback_id)).size).toBe(2);
});
