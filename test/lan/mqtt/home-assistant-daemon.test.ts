import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { code, type Site, startSite } from '../../harness/site.ts';
import { mosquittoPath, until } from './harness.ts';
import { type HomeAssistantClient, homeAssistant } from './home-assistant-client.ts';

const yaml = `partitions: [ { id: p1, name: Offices, exit_delay: 0s } ]
`;

for (const broker of ['embedded', 'mosquitto'] as const) {
  describe.skipIf(broker === 'mosquitto' && mosquittoPath === undefined)(
    `the daemon and Home Assistant, ${broker}`,
    () => {
      let site: Site | undefined;
      const clients: HomeAssistantClient[] = [];
      afterEach(async () => {
        for (const client of clients.splice(0)) await client.stop();
        await site?.close();
      });

      it('arm and disarm with the code of a user, and part when it is taken out of the configuration', async () => {
        const started = await startSite({ broker, yaml: () => yaml, mqttYaml: ', home_assistant: {}' });
        site = started;
        const home = async () => {
          const client = await homeAssistant(started.mqttUrl);
          clients.push(client);
          await client.birth();
          return client;
        };
        const ha = await home();
        const panel = () => ha.entity('siteward_proof_p1');
        await until(() => panel()?.state === 'disarmed' && panel()?.available, 'the panel');
        await ha.press('siteward_proof_p1', 'ARM_AWAY');
        await until(() => panel()?.state === 'armed_away', 'armed');
        await ha.press('siteward_proof_p1', 'DISARM', '9173');
        await until(() => ha.events.some(({ event_type: type }) => type === 'command_refused'), 'the refusal');
        expect(panel()?.state).toBe('armed_away');
        await ha.press('siteward_proof_p1', 'DISARM', code);
        await until(() => panel()?.state === 'disarmed', 'disarmed');
        const types = () => ha.events.map(({ event_type: type }) => type);
        await until(() => types().length === 3, 'the events');
        expect(types()).toEqual(['armed', 'command_refused', 'disarmed']);
        expect(JSON.stringify(ha.events)).not.toContain(code);

        const text = readFileSync(started.config, 'utf8');
        writeFileSync(started.config, text.replace(', home_assistant: {}', ''));
        await started.daemon.restart();
        // With the embedded broker it was cut off with siteward, and hears of it when it is back.
        const back = await home();
        await until(() => back.configs.some(({ text: said }) => said === ''), 'the site is taken back', 20_000);
      }, 60_000);
    },
  );
}
