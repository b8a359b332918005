import { describe, expect, it } from 'vitest';
import { mqttOptions } from '../../../src/lan/mqtt/options.ts';

const client = { id: 'kp1', role: 'keypad', password: { env: 'KP1' } };

describe('the mqtt part of the configuration', () => {
  it('needs nothing: an embedded broker on loopback', () => {
    expect(mqttOptions.parse({})).toEqual({
      broker: 'embedded',
      listen: '127.0.0.1:1883',
      clients: [],
      names: [],
      retain_images: false,
      tls: true,
    });
  });

  it.each(['mqtt://127.0.0.1:1883', 'mqtts://broker.example.net:8883'])('takes %s', (broker) => {
    expect(mqttOptions.parse({ broker, username: 'siteward', password: { credential: 'mqtt' } }).broker).toBe(broker);
  });

  it.each([
    { broker: 'mosquitto' },
    { broker: 'mqtt://user:secret@127.0.0.1:1883' },
    { broker: 'http://127.0.0.1:1883' },
    { broker: 'mqtt://127.0.0.1' },
    { listen: '1883' },
    { password: 'plain' },
    { brocker: 'embedded' },
    { clients: [{ ...client, role: 'siteward' }] },
    { clients: [{ ...client, role: 'local' }] },
    { clients: [{ ...client, id: 'siteward' }] },
    { clients: [{ ...client, id: 'a/b' }] },
    { clients: [client, client] },
    { home_assistant: { prefix: '' } },
    { home_assistant: { prefix: 'home/#' } },
    { home_assistant: { prefix: '$SYS' } },
    { home_assistant: { prefix: 'siteward/1/hq' } },
    { home_assistant: true },
  ])('refuses %o', (value) => {
    expect(mqttOptions.safeParse(value).success).toBe(false);
  });

  it('announces to Home Assistant only when asked, under its usual prefix', () => {
    expect(mqttOptions.parse({ home_assistant: {} }).home_assistant).toEqual({ prefix: 'homeassistant' });
    expect(mqttOptions.parse({}).home_assistant).toBeUndefined();
  });

  it('repeats no secret in what it says', () => {
    const { error } = mqttOptions.safeParse({ password: 'hunter22', clients: [{ ...client, password: 'hunter22' }] });
    expect(JSON.stringify(error?.issues)).not.toContain('hunter22');
  });
});
