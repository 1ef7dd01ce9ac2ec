// Generates a self-signed certificate for 127.0.0.1: version 3, valid from one day ago for two days. RFC 5280 §4.1.

import { generateKeyPairSync, sign } from 'node:crypto';

const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  text: 0x0c,
  time: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;
const oids = { commonName: '550403', subjectAltName: '551d11', ecdsaWithSha256: '2a8648ce3d040302' } as const;
const dayMs = 24 * 60 * 60 * 1000;

export function selfSigned(): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(oid('ecdsaWithSha256'));
  const name = sequence(der(tags.set, sequence(oid('commonName'), der(tags.text, Buffer.from('sluice')))));
  const validity = sequence(time(-dayMs), time(dayMs));
  const alternativeName = der(tags.octetString, sequence(der(0x87, Buffer.of(127, 0, 0, 1))));
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('subjectAltName'), alternativeName))),
  );
  const signature = der(tags.bitString, Buffer.of(0), sign('sha256', content, privateKey));
  const base64 = sequence(content, algorithm, signature).toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function sequence(...parts: Buffer[]): Buffer {
  return der(tags.sequence, ...parts);
}

function integer(value: number): Buffer {
  return der(tags.integer, Buffer.of(value));
}

function oid(name: keyof typeof oids): Buffer {
  return der(tags.oid, Buffer.from(oids[name], 'hex'));
}

/** As YYMMDDhhmmssZ. */
function time(fromNowMs: number): Buffer {
  const digits = new Date(Date.now() + fromNowMs).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(tags.time, Buffer.from(`${digits}Z`));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const header = length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
}
