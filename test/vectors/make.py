#!/usr/bin/env python3
"""Makes the test vectors, with other tools than Hookline's own: openssl signs, Python's cryptography seals,
fastavro encodes, and Kafka's own client library partitions.

    pip install cryptography fastavro
    python3 test/vectors/make.py "folder/with/kafkas/jars/*"

Everything in it is fixed, so that it writes the same files again.
"""
import base64, hashlib, io, json, pathlib, random, subprocess, sys, tempfile
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
import fastavro

here = pathlib.Path(__file__).parent
root = here.parent.parent
rnd = random.Random(20261121)
SUBSCRIPTION_ID = "7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11"
SIGNING_SECRET = "s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-3"
ENCRYPTION_KEY = "0123456789abcdef0123456789ABCDEF"

MESSAGE = json.dumps({
    "type": "payment-status", "entityId": "entity-7",
    "payload": {"status": "ACCC", "pacs002": {"FIToFIPmtStsRpt": {
        "GrpHdr": {"MsgId": "MSG-1", "CreDtTm": "2026-11-20T10:00:00Z"},
        "TxInfAndSts": [{
            "OrgnlGrpInf": {"OrgnlMsgId": "ORG-1", "OrgnlMsgNmId": "pacs.008.001.08"},
            "OrgnlInstrId": "INSTR-1", "OrgnlUETR": "18f135d2-5f55-4203-b018-50c5a38fd547", "TxSts": "ACCC",
            "InstgAgt": {"FinInstnId": {"BICFI": "AAAADEFFXXX"}},
            "InstdAgt": {"FinInstnId": {"BICFI": "BBBBDEFFXXX"}}}]}}},
    "amount": 12345678901234567890.10, "text": "Zürich – ✓"}, ensure_ascii=False, separators=(",", ":")).encode()


def write(name, value):
    (here / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def openssl_hmac(key, body):
    with tempfile.NamedTemporaryFile() as file:
        file.write(body); file.flush()
        out = subprocess.run(["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"key:{key}", file.name],
                             capture_output=True, check=True, text=True).stdout
    return out.split("= ")[1].strip()


def signatures():
    bodies = [b"", b"{}", MESSAGE, bytes(range(256)), b"x" * 5_000]
    write("signatures.json", {
        "subscriptionId": SUBSCRIPTION_ID, "signingSecret": SIGNING_SECRET,
        "bodies": [{"base64": base64.b64encode(b).decode(), "signature": openssl_hmac(SUBSCRIPTION_ID + SIGNING_SECRET, b)}
                   for b in bodies]})


def gcm(iv, plain):  # 12-byte ivs by the one-shot API, others by the general one
    if len(iv) == 12:
        sealed = AESGCM(ENCRYPTION_KEY.encode()).encrypt(iv, plain, None)
        return sealed[:-16], sealed[-16:]
    encryptor = Cipher(algorithms.AES(ENCRYPTION_KEY.encode()), modes.GCM(iv)).encryptor()
    return encryptor.update(plain) + encryptor.finalize(), encryptor.tag


def sealed():
    cases = []
    for length in (12, 16):
        iv = rnd.randbytes(length)
        ciphertext, tag = gcm(iv, MESSAGE)
        for order, raw in ((f"iv{length}.ciphertext.tag16", iv + ciphertext + tag), (f"iv{length}.tag16.ciphertext", iv + tag + ciphertext)):
            cases.append({"layout": order, "body": base64.b64encode(raw).decode()})
            cases.append({"layout": order + ":base64", "body": base64.b64encode(base64.b64encode(raw)).decode()})
            cases.append({"layout": order + ":hex", "body": base64.b64encode(raw.hex().encode()).decode()})
    iv = rnd.randbytes(12)
    ciphertext, tag = gcm(iv, MESSAGE)
    b64 = lambda b: base64.b64encode(b).decode()
    envelope = json.dumps({"iv": b64(iv), "tag": b64(tag), "data": b64(ciphertext)}).encode()
    cases.append({"layout": "json", "body": b64(envelope)})
    named = json.dumps({"nonce": iv.hex(), "mac": tag.hex(), "text": ciphertext.hex()}).encode()
    cases.append({"layout": "json:hex:iv=nonce,tag=mac,data=text", "body": b64(named)})
    payload = b'{"status":"ACCC", "amount": 12345678901234567890.10}'
    ciphertext, tag = gcm(iv, payload)
    plain = b'{ "type":"payment-status" ,"payload": ' + payload + b' , "entityId":"e" }'
    text = json.dumps(b64(iv + ciphertext + tag)).encode()
    inner = json.dumps({"iv": b64(iv), "tag": b64(tag), "data": b64(ciphertext)}).encode()
    for layout, value in (("payload/iv12.ciphertext.tag16:base64", text), ("payload/json", inner)):
        cases.append({"layout": layout, "body": b64(plain.replace(payload, value)), "message": b64(plain)})
    # Sealed bodies in the default layout that begin like JSON.
    lookalikes = []
    for start in (b"{", b"[", b" {", b'{"a":1}     ', b'"x"', b"\n\t[1]"):
        iv = start + bytes(range(200, 212 - len(start)))
        ciphertext, tag = gcm(iv, MESSAGE)
        lookalikes.append(b64(iv + ciphertext + tag))
    write("sealed.json", {"encryptionKey": ENCRYPTION_KEY, "message": b64(MESSAGE), "cases": cases,
                          "lookalikes": lookalikes})


def avro():
    schema = fastavro.parse_schema(json.loads((root / "schemas/events/payment-status.avsc").read_text()))
    message = json.loads(MESSAGE)
    event_id = bytearray(hashlib.sha256(SUBSCRIPTION_ID.encode() + MESSAGE).digest()[:16])
    event_id[6] = event_id[6] & 0x0F | 0x80
    event_id[8] = event_id[8] & 0x3F | 0x80
    h = event_id.hex()
    record = {"eventId": f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}", "type": message["type"],
              "entityId": message["entityId"], "subscription": "ledger-eu", "receivedAt": 1795245881505,
              "source": MESSAGE.decode(), "sourceRef": None, "status": message["payload"]["status"], "pacs002": message["payload"]["pacs002"]}
    pacs002 = json.loads(json.dumps(message["payload"]["pacs002"]))
    pacs002["FIToFIPmtStsRpt"]["TxInfAndSts"] = None
    referring = {**record, "source": None, "pacs002": pacs002, "sourceRef": {
        "uri": "s3://bucket/events/é.json", "bytes": len(MESSAGE), "sha256": hashlib.sha256(MESSAGE).hexdigest(),
        "omitted": ["pacs002.FIToFIPmtStsRpt.TxInfAndSts"]}}

    def value(of):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, of)
        return base64.b64encode(b"\0" + (258).to_bytes(4, "big") + out.getvalue()).decode()
    write("avro.json", {"schema": "payment-status", "schemaId": 258, "record": record, "value": value(record),
                        "sourceRef": referring["sourceRef"], "referringValue": value(referring)})


def partitions(jars):
    keys = ["", "a", "ab", "abc", "abcd", "abcde", "entity-7", "Zürich", "18f135d2-5f55-4203-b018-50c5a38fd547"]
    keys += ["".join(chr(rnd.randrange(33, 126)) for _ in range(rnd.randrange(1, 80))) for _ in range(40)]
    source = """
        import org.apache.kafka.common.utils.Utils;
        class Murmur2 { public static void main(String[] keys) {
            for (String key : keys) System.out.println(Utils.murmur2(java.util.Base64.getDecoder().decode(key))); } }"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "Murmur2.java")
        file.write_text(source)
        encoded = [base64.b64encode(key.encode()).decode() for key in keys]
        out = subprocess.run(["java", "-cp", jars, str(file), *encoded], capture_output=True, check=True, text=True).stdout
    hashes = [int(line) for line in out.split()]
    assert len(hashes) == len(keys), out
    write("murmur2.json", [{"key": key, "murmur2": value} for key, value in zip(keys, hashes)])


signatures(); sealed(); avro(); partitions(sys.argv[1])
