"""Dask's Client.submit, Client.map and gather, replaced: the same shape of code.

    from dask.distributed import Client              import divvy
    client = Client("tcp://scheduler:8786")          pool = divvy.Executor()
    future = client.submit(inc, 1)                   future = pool.submit(inc, 1)
    futures = client.map(inc, range(10))             futures = [pool.submit(inc, i) for i in range(10)]
    client.gather(futures)                           [f.result() for f in futures]
    client.submit(total, futures)                    pool.submit(total, [f.result() for f in futures])
    for f in dask.distributed.as_completed(futures)  for f in concurrent.futures.as_completed(futures)
    await future                                     await asyncio.wrap_future(future)

A future is no argument of another call: results come to the caller, which hands them on.
"""

import asyncio

import divvy


def inc(x):
    return x + 1


def total(numbers):
    return sum(numbers)


async def main(pool):
    futures = [pool.submit(inc, i) for i in range(10)]
    numbers = await asyncio.gather(*map(asyncio.wrap_future, futures))
    return await asyncio.wrap_future(pool.submit(total, numbers))


if __name__ == "__main__":
    with divvy.Executor(label="user") as pool:
        print(asyncio.run(main(pool)))
