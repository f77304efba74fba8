# PostgreSQL as the official image has it, around what postgres-root put together.
FROM scratch
ADD root.tar /
ENV PATH=/usr/bin PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
