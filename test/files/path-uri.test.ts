import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FileError, type FileErrorKind, pathFromUri, pathFromUser, shownPath, uriOfPath } from '#src/files/index.js';

function refusal(kind: FileErrorKind, message: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof FileError);
    assert.deepEqual([error.kind, error.message], [kind, message]);
    return true;
  };
}

describe('the path of a file: URI', () => {
  for (const [uri, path] of Object.entries({
    'file:///a/b': '/a/b',
    'file:///': '/',
    'file://localhost/a/b': '/a/b',
    'file:///a/b/': '/a/b',
    'file:///a/../b/./c//d': '/b/c/d',
    'file:///a/%2e%2e/b': '/b',
    'file:///a%2f..%2fb': '/b',
    'file:///../../a': '/a',
    'file:///sp%20ace%20%C3%A9': '/sp ace é',
    'file:///é': '/é',
    'file:///100%25': '/100%',
    'file:///100%': '/100%',
    'file:///a%3Fb%23c': '/a?b#c',
    'FILE:///a': '/a',
  })) {
    test(`${uri} is ${path}`, () => assert.equal(pathFromUri(uri), path));
  }

  test('keeps bytes that are not UTF-8', () => {
    const path = pathFromUri('file:///a/%FF%FE');
    assert.deepEqual(path, Buffer.from('/a/\u00ff\u00fe', 'latin1'));
    assert.equal(uriOfPath(path), 'file:///a/%FF%FE');
    assert.equal(shownPath(path), 'file:///a/%FF%FE');
  });

  const texts: [string, FileErrorKind, string][] = [
    ['/a/b', 'badUri', 'invalid URI: relative URL without a base'],
    ['a/b', 'badUri', 'invalid URI: relative URL without a base'],
    ['', 'badUri', 'invalid URI: relative URL without a base'],
    ['http://x/y', 'badUri', 'unsupported path URI scheme `http`'],
    ['file:///a?b', 'badUri', 'query parameters are not allowed in path URIs'],
    ['file:///a#b', 'badUri', 'fragments are not allowed in path URIs'],
    ['file:///a/%00', 'badUri', "'file:///a/%00' is invalid on 'linux'"],
    ['file://host/x', 'refused', "'file://host/x' is invalid on 'linux'"],
    ['file:///C:/x', 'refused', "'file:///C:/x' is invalid on 'linux'"],
    ['file:///c:', 'refused', "'file:///c:' is invalid on 'linux'"],
  ];
  for (const [uri, kind, message] of texts) {
    test(`is refused for "${uri}"`, () => assert.throws(() => pathFromUri(uri), refusal(kind, message)));
  }

  test('may be opaque, if it has no other URI', () => {
    const uri = `file:///%00/bad/path/${Buffer.from('/C:/x').toString('base64url')}`;
    assert.equal(pathFromUri(uri), '/C:/x');
    assert.equal(uriOfPath('/C:/x'), uri);
  });

  for (const bytes of ['/a/b', 'C:\\x', 'relative', '']) {
    test(`is refused when the opaque form stands for "${bytes}"`, () => {
      const uri = `file:///%00/bad/path/${Buffer.from(bytes).toString('base64url')}`;
      assert.throws(() => pathFromUri(uri), refusal('refused', `'${uri}' is invalid on 'linux'`));
    });
  }

  test('is refused when the opaque form contains a NUL character', () => {
    assert.throws(() => pathFromUri(uriOfPath('/a\0b')), { kind: 'refused' });
  });
});

describe('a path of ours', () => {
  test('is an absolute path or a file: URI', () => {
    assert.equal(pathFromUser('/a/../b/'), '/b');
    assert.equal(pathFromUser('file:///a/../b/'), '/b');
  });

  test('is not relative', () => {
    assert.throws(() => pathFromUser('src'), refusal('refused', 'a path must be absolute or a file: URI, got "src"'));
  });

  test('has no NUL character', () => {
    assert.throws(() => pathFromUser('/a\0b'), { kind: 'refused' });
  });
});

describe('the URI of a path', () => {
  test('encodes what the URL standard would read otherwise', () => {
    const path = '/a b"#%<>?`{}\\^|[]~é\n';
    assert.equal(uriOfPath(path), 'file:///a%20b%22%23%25%3C%3E%3F%60%7B%7D%5C%5E|[]~%C3%A9%0A');
    assert.equal(pathFromUri(uriOfPath(path)), path);
  });

  test('leads back to the same path, for every byte', () => {
    for (let byte = 1; byte < 256; byte += 1) {
      if (byte === 0x2f) continue;
      const path = pathFromUri(uriOfPath(Buffer.from([0x2f, 0x78, byte])));
      assert.deepEqual(Buffer.from(path as string), Buffer.from([0x2f, 0x78, byte]), `byte ${byte}`);
    }
  });
});
