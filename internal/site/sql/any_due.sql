-- Whether a file for later is due: asked every second, without a lock.
SELECT EXISTS (SELECT FROM site_later AS l WHERE l.state = 'waiting' AND l.effective_at <= now()) AS due
