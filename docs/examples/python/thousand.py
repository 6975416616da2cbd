"""A thousand futures: one task, a job a call, or with chunksize fewer jobs."""

import concurrent.futures
import time

import divvy


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


if __name__ == "__main__":
    began = time.monotonic()
    with divvy.Executor(label="user") as pool:
        # Short calls go by the dozen into a job: Python takes longer to start than they do.
        primes = sum(pool.map(is_prime, range(1000), chunksize=50))
        some = [pool.submit(is_prime, 10**12 + i) for i in range(20)]
        for future in concurrent.futures.as_completed(some):
            primes += future.result()
    print(f"{primes} primes in {time.monotonic() - began:.1f} s")
