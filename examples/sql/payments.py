#!/usr/bin/env python3
"""A payments service that keeps its rows, its idempotency keys and its messages in one transaction.

    oncekey migrate --store postgres://HOST/DB
    python3 examples/sql/payments.py postgres://HOST/DB

Needs psycopg2. `pay` is what a request handler would call; the rest shows what clients see.
"""
import hashlib
import json
import sys
import threading
import uuid

import psycopg2
import psycopg2.errors
import psycopg2.extras

ATTEMPTS_MAX = 5  # of a transaction that PostgreSQL asks to repeat


class ProviderDown(Exception):
    """Nothing was charged: the request may be tried again."""


def charge(connection, body):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO public.example_payments (amount) VALUES (%s) RETURNING id",
                       (body["amount"],))
        payment = cursor.fetchone()[0]
        # `oncekey worker` tells the provider, after the commit and not without it.
        cursor.execute("SELECT oncekey.enqueue('provider', %s, message_key => %s)",
                       (json.dumps(body).encode(), f"charge payment {payment}"))
        return {"payment": payment, "amount": body["amount"]}


def reserve(connection, scope, key, fingerprint):
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("SELECT * FROM oncekey.reserve(%s, %s, %s, method => 'POST',"
                       " path => '/payments')", (scope, key, fingerprint))
        return cursor.fetchone()


def complete(connection, scope, key, fence, status, answer):
    with connection.cursor() as cursor:
        cursor.execute("SELECT oncekey.complete(%s, %s, %s, %s, %s, %s)",
                       (scope, key, fence, status,
                        json.dumps({"content-type": "application/json"}),
                        json.dumps(answer).encode()))
        return cursor.fetchone()[0]


def refusal(row):
    """The answer for every decision that is not ours to execute."""
    retry_after = row["retry_after"] and int(row["retry_after"].total_seconds()) or 1
    return {
        "in_flight": (409, {"error": "the same request is being worked on"}, retry_after),
        "mismatch": (422, {"error": "this key was used for another request"}, None),
        "unknown": (409, {"error": "it is not known whether this was done"}, retry_after),
        "expired": (410, {"error": "this was done, and the answer is no longer kept"}, None),
    }[row["decision"]]


def pay_once(connection, scope, key, raw, work):
    with connection:  # commits, or rolls back when anything below raises
        row = reserve(connection, scope, key, hashlib.sha256(raw).digest())
        if row["decision"] == "replay":
            return row["response_status"], json.loads(bytes(row["response_body"])), None
        if row["decision"] != "execute":
            return refusal(row)
        answer = work(connection, json.loads(raw))
        if not complete(connection, scope, key, row["fence"], 201, answer):
            raise RuntimeError("the reservation is no longer ours")  # takes the work back, too
        return 201, answer, None


def pay(connection, scope, key, raw, work=charge):
    """Status, answer and Retry-After of one request."""
    for _ in range(ATTEMPTS_MAX):
        try:
            return pay_once(connection, scope, key, raw, work)
        except psycopg2.errors.SerializationFailure:
            continue  # only above READ COMMITTED; nothing has been done
        except ProviderDown:
            return 503, {"error": "nothing was charged; try again"}, 1
    return 503, {"error": "too busy"}, 1


def payments(connection, amount):
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM public.example_payments WHERE amount = %s", (amount,))
        return cursor.fetchone()[0]


def messages(connection, raw):
    """How many are in the outbox, which an application need not be able to read."""
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM oncekey.outbox WHERE payload = %s", (raw,))
            return cursor.fetchone()[0]
    except psycopg2.errors.InsufficientPrivilege:
        return "not for this role to see"


def failing_charge(connection, body):
    charge(connection, body)
    raise ProviderDown


def main(url):
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET client_min_messages = warning;"
                       "CREATE TABLE IF NOT EXISTS public.example_payments ("
                       " id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                       " amount integer NOT NULL)")
    amount = uuid.uuid4().int % 1_000_000_000  # tells this run's rows from others'
    raw = json.dumps({"amount": amount}).encode()
    key = str(uuid.uuid4())

    status, _, _ = pay(connection, "customer 17", key, raw, failing_charge)
    print(f"provider down: {status}, rows: {payments(connection, amount)},"
          f" messages: {messages(connection, raw)}")

    answers = []
    threads = [threading.Thread(target=lambda: answers.append(
        pay(psycopg2.connect(url), "customer 17", key, raw)[:2])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same = all(answer == answers[0] for answer in answers)
    print(f"eight at once: {answers[0][0]}, same answer: {same},"
          f" rows: {payments(connection, amount)}, messages: {messages(connection, raw)}")

    status, _, _ = pay(connection, "customer 17", key, b'{"amount": 1}')
    print(f"another request with the key: {status}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
