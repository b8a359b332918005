import { describe, expect, it } from 'vitest';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { topicSpecs } from '../../../src/lan/mqtt/table.ts';
import { matches } from '../../../src/lan/mqtt/topics.ts';
import { bench, brokers, event } from './bench.ts';
import { root, slug, until, type Watcher } from './harness.ts';

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`the state of a site on ${name}`, () => {
    const on = bench(startBroker);

    it('is born in order: everything else first, online last', async () => {
      const watcher = await on.observe();
      await on.start();
      await until(() => watcher.texts('status').includes('online'), 'online');
      const topics = watcher.packets.map((packet) => packet.topic.slice(root.length + 1));
      const born = topics.slice(0, topics.lastIndexOf('status'));
      for (const topic of [
        'link/cloud',
        'link/panel/main',
        'partition/p1/availability',
        'partition/p1/state',
        'problem',
      ]) {
        expect(born).toContain(topic);
      }
      for (const topic of [
        'partition/p2/detail',
        'zone/3/state',
        'zone/3/detail',
        'camera/yard/meta',
        'info',
        'trouble',
      ]) {
        expect(born).toContain(topic);
      }
    });

    it('retains its whole state, each payload as the table says, and again after the broker lost it', async () => {
      await on.start();
      const first = await on.observe();
      await until(() => first.packets.length >= 24, 'the state');
      for (const { topic, payload, retain } of first.packets) {
        const spec = topicSpecs.find((row) => matches(`${root}/${row.topic.replaceAll(/\{\w+\}/g, '+')}`, topic));
        expect(retain).toBe(true);
        const text = payload.toString();
        if (spec === undefined) throw new Error(`not in the table: ${topic}`);
        if ('words' in spec.payload) expect(spec.payload.words).toContain(text);
        else if ('json' in spec.payload) expect(spec.payload.json.safeParse(JSON.parse(text)).error).toBeUndefined();
        else throw new Error(`free text is no state: ${topic}`);
      }
      const topicsOf = (watcher: Watcher) => [...new Set(watcher.packets.map((packet) => packet.topic))].sort();
      const before = topicsOf(first);
      await first.client.endAsync(true);
      await on.broker.restart();
      await until(() => on.health.state === 'ok', 'siteward is back', 20_000);
      const second = await on.observe();
      await until(() => topicsOf(second).length >= before.length, 'the state');
      expect(topicsOf(second)).toEqual(before);
      expect(second.texts('status')).toContain('online');
    });

    it('sends only the present after an outage: no old state, no old event', async () => {
      const { lan } = await on.start();
      await on.broker.halt();
      await until(() => on.health.state !== 'ok', 'the loss was seen');
      for (const state of ['armed_away', 'pending', 'armed_home'] as const) on.site.setPartition('p1', state);
      lan.publishEvent(event());
      await on.broker.restart();
      const watcher = await on.observe();
      await until(() => watcher.texts('status').includes('online'), 'online', 20_000);
      expect(watcher.texts('partition/p1/state')).toEqual(['armed_home']);
      expect(watcher.texts('event/alarm')).toEqual([]);
    });

    it('leaves its will when it is cut off, and says goodbye when it stops', async () => {
      const watcher = await on.observe({ clientId: 'bystander' });
      await on.start({ connect: { ...on.broker.connect, protocolVersion: 4 } });
      await until(() => watcher.texts('status').includes('online'), 'online');
      // Another client with the same id makes the broker cut siteward's connection.
      const thief = await on.own({ clientId: `siteward-${slug}`, reconnectPeriod: 0 }, []);
      await until(() => watcher.texts('status').includes('offline'), 'the will');
      await thief.client.endAsync(true);
      await until(() => watcher.texts('status').at(-1) === 'online', 'siteward is back', 20_000);
      await on.stop();
      await until(() => watcher.texts('status').at(-1) === 'offline', 'goodbye');
    });

    // On the embedded broker nobody else can have it.
    if (name !== 'the embedded broker') {
      it('sees that another client has its id, says so and backs off', async () => {
        const { lan } = await on.start();
        const twin = await on.own({ clientId: `siteward-${slug}`, reconnectPeriod: 50 }, []);
        await until(() => lan.health().facts?.trouble === 'mqtt_client_id_clash', 'the clash was noticed', 20_000);
        expect(lan.health().reason).toContain('another client');
        expect(on.site.submitted).toEqual([]);
        await until(() => twin.client.connected, 'the twin stays');
      });
    }

    it('publishes events once, live, and silent ones never', async () => {
      const { lan } = await on.start();
      const watcher = await on.observe();
      lan.publishEvent(event({ kind: 'panic_silent', event_type: 'panic_silent', contact_id: '122' }));
      lan.publishEvent(event({ kind: 'duress', event_type: 'duress' }));
      lan.publishEvent(event({ kind: 'x', data: { ...event().data, zone_type: 'panic_silent' } }));
      lan.publishEvent(event());
      await until(() => watcher.texts('event/alarm').length > 0, 'the event');
      expect(watcher.json('event/alarm')).toEqual([event()]);
      const late = await on.observe();
      await until(() => late.texts('status').length > 0, 'the retained topics');
      expect(late.texts('event/alarm')).toEqual([]);
    });

    it('gives a silent hold-up zone no topic and no place in any list', async () => {
      await on.start();
      const watcher = await on.observe();
      on.site.setZone('99', { open: true, alarm: true });
      on.site.setZone('1', { open: true });
      await until(
        () => watcher.json('partition/p1/detail').some((detail) => String(detail.open_zones) === '1'),
        'zone 1',
      );
      expect(watcher.packets.filter((packet) => packet.topic.includes('/zone/99/'))).toEqual([]);
      expect(watcher.packets.some((packet) => packet.payload.toString().includes('"99"'))).toBe(false);
    });

    it('holds a flood of zone changes to a trickle and ends with the truth', async () => {
      await on.start();
      const watcher = await on.observe();
      await until(() => watcher.texts('zone/1/state').length === 1, 'the state');
      for (let change = 0; change < 1000; change += 1) on.site.setZone('1', { open: change % 2 === 0 });
      on.site.setZone('2', { open: true });
      await until(() => watcher.texts('zone/2/state').at(-1) === 'ON', 'another zone is not held up');
      const { length } = watcher.texts('zone/1/state');
      expect(length).toBeLessThan(10);
      await until(() => watcher.texts('zone/1/state').length > length || length > 4, 'what was held back');
      await until(() => watcher.texts('zone/1/state').at(-1) === 'OFF', 'the truth');
      expect(watcher.texts('zone/1/state').length).toBeLessThan(15);
    });

    it('shows links, troubles and the cloud as they change', async () => {
      const { lan } = await on.start();
      const watcher = await on.observe();
      on.site.setLink('panel', 'main', false);
      on.site.setLink('camera', 'yard', true);
      on.site.setTrouble(true);
      lan.setCloudLink(false);
      await until(() => watcher.texts('link/cloud').at(-1) === 'offline', 'the cloud is away');
      await until(() => watcher.texts('zone/1/availability').at(-1) === 'offline', 'zones of the panel are away');
      await until(() => watcher.texts('link/panel/main').at(-1) === 'offline', 'link/panel/main');
      await until(() => watcher.texts('partition/p1/availability').at(-1) === 'offline', 'partition/p1/availability');
      await until(() => watcher.texts('partition/p2/availability').at(-1) === 'online', 'partition/p2/availability');
      await until(() => watcher.texts('partition/p1/state').at(-1) === 'disarmed', 'partition/p1/state');
      await until(() => watcher.texts('camera/yard/availability').at(-1) === 'online', 'camera/yard/availability');
      await until(() => watcher.texts('problem').at(-1) === 'ON', 'the trouble');
      expect(watcher.json('trouble').at(-1)).toMatchObject({ items: [{ kind: 'ac_loss' }] });
    });

    it('retracts what the plan no longer has, at once and after a restart', async () => {
      await on.start();
      const watcher = await on.observe();
      await until(() => watcher.texts('status').length > 0, 'the state');
      const { plan } = on.site.view();
      on.site.setPlan({ partitions: plan.partitions.slice(0, 1), zones: plan.zones.slice(1), cameras: [] });
      await until(() => watcher.texts('zone/1/detail').at(-1) === '', 'zone 1 is retracted');
      for (const topic of [
        'partition/p2/state',
        'partition/p2/detail',
        'camera/yard/meta',
        'camera/yard/availability',
      ]) {
        await until(() => watcher.texts(topic).at(-1) === '', topic);
      }
      await on.stop();
      on.renew(fakeSite());
      on.site.setPlan({ zones: on.site.view().plan.zones.slice(2) });
      await on.start();
      await until(() => watcher.texts('zone/2/state').at(-1) === '', 'zone 2 is swept away');
      const late = await on.observe();
      await until(() => late.texts('status').length > 0, 'the retained topics');
      expect(late.texts('zone/2/detail')).toEqual([]);
      expect(late.texts('zone/3/state')).toEqual(['OFF']);
    });

    it('is degraded, not broken, while there is no broker', async () => {
      await on.broker.halt();
      await on.start({}, false);
      expect(on.health.state).toBe('down');
      await on.broker.restart();
      await until(() => on.health.state === 'ok', 'siteward connects', 20_000);
    });
  });
}
