import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Rig, replyTo, root } from '../../system-input/rig.ts';
import { code, detail, kinds, listening, lookedAt, pai, siteWith, zoneDetail } from './bugcases.ts';

/** `cmd/bypass` for a zone of a panel, from the client to the panel's own topics and back. */
describe.each(kinds)('leaving out a zone of a panel on a site with %s', (broker) => {
  let rig: Rig;
  afterEach(() => rig?.close());

  /** What the panel is told, as `topic payload`. */
  async function control(): Promise<string[]> {
    const sent: string[] = [];
    rig.lan.client.on('message', (topic, payload) => {
      if (topic.startsWith('paradox/control/')) sent.push(`${topic.slice('paradox/control/'.length)} ${payload}`);
    });
    await rig.lan.client.subscribeAsync('paradox/control/#');
    return sent;
  }

  async function says(state: string): Promise<void> {
    await rig.lan.publish('paradox/interface/availability', 'online', true);
    await rig.lan.publish('paradox/states/partitions/Area_1/current_state', state, true);
    await rig.lan.shows('partition/p1/availability', 'online');
    await rig.lan.shows('partition/p1/state', state);
  }
  const bypassed = (is: boolean) => rig.lan.publish('paradox/states/zones/7/bypassed', is ? 'True' : 'False', true);
  const asked = (what: string, sent: readonly string[], line: string) =>
    eventually(what, () => (sent.includes(line) ? true : undefined));

  it('the panel is told, and done is what the panel confirms; taken back the same way', async () => {
    rig = await siteWith(broker, pai);
    const sent = await control();
    await says('disarmed');
    const without = await rig.lan.command('bypass', { zone: '7', on: true });
    expect(without).toMatchObject({ outcome: 'refused', error: { code: 'CODE_REQUIRED' } });
    const left = rig.lan.command('bypass', { zone: '7', on: true, code });
    await asked('the bypass at the panel', sent, 'zones/7 bypass');
    expect(zoneDetail(rig, '7').bypassed).toBe(false);
    await bypassed(true);
    expect(await left).toMatchObject({ outcome: 'done', partition: 'p1' });
    await eventually('the bypass', () => (detail(rig).bypassed?.includes('7') ? true : undefined));
    expect(await rig.lan.command('bypass', { zone: '7', on: true, code })).toMatchObject({ outcome: 'already' });
    const back = rig.lan.command('bypass', { zone: '7', on: false });
    await asked('its end at the panel', sent, 'zones/7 clear_bypass');
    await bypassed(false);
    expect(await back).toMatchObject({ outcome: 'done' });
    expect(sent).toEqual(['zones/7 bypass', 'zones/7 clear_bypass']);
    const entries = (await rig.audit()).filter(({ target }) => target === 'zone:7');
    expect(entries.map(({ action, outcome }) => `${action} ${outcome}`).toReversed()).toEqual([
      ...['bypass refused', 'bypass accepted', 'bypass done', 'bypass already'],
      ...['unbypass accepted', 'unbypass done'],
    ]);
  });

  it('a restart in between sends it no second time, and the panel’s word answers it', async () => {
    rig = await siteWith(broker, `${pai}arming: { confirm_timeout: 2m }\n`);
    const sent = await control();
    await says('disarmed');
    const id = '00000026-0000-4000-8000-000000000001';
    const body = { id, issued_at: new Date().toISOString(), zone: '7', on: true, code };
    const command = () => rig.lan.publish(`${root}/cmd/bypass`, JSON.stringify(body));
    await command();
    await asked('the bypass at the panel', sent, 'zones/7 bypass');
    await rig.daemon.stop();
    await rig.start();
    await listening(rig);
    await eventually('the broker', () => (rig.lan.client.connected ? true : undefined));
    await rig.lan.client.subscribeAsync('paradox/control/#');
    await rig.lan.publish('paradox/interface/availability', 'online', true);
    await bypassed(true);
    await eventually('the bypass', () => (zoneDetail(rig, '7').bypassed === true ? true : undefined));
    // Who asks again by the same id is told what became of it.
    await rig.lan.shows('status', 'online');
    await command();
    expect(await replyTo(rig.lan.heard, id)).toMatchObject({ outcome: 'done' });
    await lookedAt(rig);
    expect(sent).toEqual(['zones/7 bypass']);
  });

  it('a panel that takes it disarmed only is told nothing while it is armed', async () => {
    rig = await siteWith(broker, pai);
    const shipped = new URL('../../../config/panels/pai.json', import.meta.url);
    const evo = { ...JSON.parse(readFileSync(shipped, 'utf8')), id: 'pai-evo', bypass_armed: false };
    mkdirSync(join(rig.folder, 'panels'));
    writeFileSync(join(rig.folder, 'panels', 'pai-evo.json'), JSON.stringify(evo));
    rig.configure(`partitions: [ { id: p1, name: One } ]
users: [ { id: anna, name: Anna, code: { env: CASE_CODE } } ]
panels:
${pai.replace('profile: pai', 'profile: pai-evo')}`);
    await rig.daemon.stop();
    await rig.start();
    await listening(rig);
    const sent = await control();
    await says('armed_away');
    const refused = { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'state' } };
    expect(await rig.lan.command('bypass', { zone: '7', on: true, code })).toMatchObject(refused);
    await lookedAt(rig);
    expect(sent).toEqual([]);
    await says('disarmed');
    void rig.lan.command('bypass', { zone: '7', on: true, code }).catch(() => undefined);
    await asked('the bypass at the panel', sent, 'zones/7 bypass');
  });

  // A mosquitto with rights is in `acl-matrix.test.ts`: a viewer writes no command there.
  const embeddedOnly = broker === 'embedded' ? it : () => undefined;
  embeddedOnly('a role that may not is cut off, and the panel is told nothing', async () => {
    rig = await siteWith(broker, pai, ', clients: [ { id: pad, role: keypad, password: { env: CASE_CODE } } ]');
    const sent = await control();
    await says('disarmed');
    const pad = await connectAsync(rig.mqttUrl, {
      ...{ clientId: 'pad', username: 'pad', password: code, reconnectPeriod: 0 },
    });
    rig.also(() => pad.endAsync(true));
    pad.on('error', () => undefined);
    const cut = new Promise<void>((resolve) => pad.once('close', () => resolve()));
    const id = '00000026-0000-4000-8000-000000000002';
    const body = JSON.stringify({ id, issued_at: new Date().toISOString(), zone: '7', on: true, code });
    void pad.publishAsync(`${root}/cmd/bypass`, body, { qos: 1 }).catch(() => undefined);
    await cut;
    await lookedAt(rig);
    expect([sent, rig.lan.heard.filter(({ payload }) => payload.includes(id))]).toEqual([[], []]);
  });
});
